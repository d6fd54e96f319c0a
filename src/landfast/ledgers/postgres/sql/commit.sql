-- Results, effects and the guard row in one statement: the last before COMMIT. A handler may have chosen a lazy COMMIT
-- for its writes; a receipt that a crash could undo is none.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
), stored AS (
    UPDATE landfast_ledger.receipt AS receipt
    SET result = given.result
    FROM unnest($2::bytea[], $3::text[], $4::integer[], $5::bytea[]) AS given (digest, handler, run, result)
    WHERE receipt.digest = given.digest AND receipt.handler = given.handler AND receipt.run = given.run
), staged AS (
    INSERT INTO landfast_ledger.effect (key, run, name, arguments, context, digest, handler)
    SELECT key, run, name, arguments, context, digest, handler
    FROM unnest($6::text[], $7::integer[], $8::text[], $9::bytea[], $10::bytea[], $11::bytea[], $12::text[])
        AS given (key, run, name, arguments, context, digest, handler)
    ON CONFLICT (key, run) DO NOTHING
), known_key AS (
    -- Each time: a ledger that was restored from a copy may have lost it, and could not be opened without it.
    INSERT INTO landfast_ledger.store_key (id, wrapped, master)
    SELECT $13::bytea, $14::bytea, $15::text
    WHERE $13 IS NOT NULL AND NOT EXISTS (SELECT FROM landfast_ledger.store_key WHERE id = $13)
    ON CONFLICT (id) DO NOTHING
)
DELETE FROM landfast_ledger.guard USING durably WHERE ctid = ANY($1::tid[]) AND setting = 'on'

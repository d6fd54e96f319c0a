-- Receipts and a guard row in one statement. ON CONFLICT names the key, so that a ledger that lost it fails here.
WITH guard AS (
    INSERT INTO landfast_ledger.guard DEFAULT VALUES RETURNING ctid AS place
), received AS (
    INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome, result)
    SELECT digest, handler, run, outcome, result
    FROM unnest($1::bytea[], $2::text[], $3::integer[], $4::text[], $5::bytea[])
        AS given (digest, handler, run, outcome, result)
    ON CONFLICT (digest, handler, run) DO NOTHING
    RETURNING digest, handler, run
), relaxed AS (
    -- Once all of them are ours, which is what the count waits for, the locks are the handler's, and so is the time that
    -- it waits for them. Null stands for what the session began with.
    SELECT CASE WHEN $6::boolean THEN set_config('lock_timeout', NULL, true) END AS setting
    FROM (SELECT count(*) FROM received) AS all_of_them
)
SELECT guard.place, received.digest, received.handler, received.run
FROM guard CROSS JOIN relaxed LEFT JOIN received ON true

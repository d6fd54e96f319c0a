-- Receipts and a guard row in one statement. ON CONFLICT names the key, so that a ledger that lost it fails here.
WITH guard AS (
    INSERT INTO landfast_guard DEFAULT VALUES RETURNING ctid AS place
), received AS (
    INSERT INTO landfast_receipt (digest, handler, run, outcome, result)
    SELECT digest, handler, run, outcome, result
    FROM unnest($1::bytea[], $2::text[], $3::integer[], $4::text[], $5::bytea[])
        AS given (digest, handler, run, outcome, result)
    ON CONFLICT (digest, handler, run) DO NOTHING
    RETURNING digest, handler, run
)
SELECT guard.place, received.digest, received.handler, received.run
FROM guard LEFT JOIN received ON true

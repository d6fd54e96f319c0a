-- As receipts_insert, for drivers that tell of a text with BEGIN in it no more than how many rows its last statement had:
-- as many as are ours now. Where the guard row is stays here, in a setting of the transaction. The settings of the
-- transaction come first, because the time that a receipt is waited for is one of them: no row is inserted before the
-- one row of `settled` is there to be joined.
WITH settled AS MATERIALIZED (
    SELECT count(set_config(name, value, true)) FROM unnest($5::text[], $6::text[]) AS given (name, value)
), guard AS (
    INSERT INTO landfast_ledger.guard SELECT 0 FROM settled RETURNING set_config('landfast.guard', ctid::text, true)
), received AS (
    INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome)
    SELECT digest, handler, run, $4::text
    FROM settled CROSS JOIN unnest($1::bytea[], $2::text[], $3::integer[]) AS given (digest, handler, run)
    ON CONFLICT (digest, handler, run) DO NOTHING
    RETURNING digest
), relaxed AS (
    SELECT set_config('lock_timeout', NULL, true) FROM (SELECT count(*) FROM received) AS all_of_them
)
SELECT FROM received CROSS JOIN relaxed

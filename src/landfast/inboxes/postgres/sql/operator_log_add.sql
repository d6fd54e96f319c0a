-- Durable whatever the role's default is: what was done must not outlive the line that says so.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
)
INSERT INTO landfast.operator_log (seq, at, action, step, who, host, why, what, asked_by, digest)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM durably WHERE setting = 'on'

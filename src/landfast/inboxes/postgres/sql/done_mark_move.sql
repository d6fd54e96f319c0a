-- Durable whatever the role's default is, and with it the lines of history below the mark.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
)
UPDATE landfast.mark SET seq = $2 FROM durably WHERE name = $1 AND setting = 'on'

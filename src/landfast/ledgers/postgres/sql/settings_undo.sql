-- Back to what they were, for the rest of the transaction. One that was not there becomes empty: it cannot be removed.
SELECT set_config(name, value, true)
FROM unnest($1::text[], $2::text[]) AS before (name, value)
WHERE current_setting(name, true) IS DISTINCT FROM value

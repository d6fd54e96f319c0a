-- Where each of them counts now, as setval takes it.
SELECT format('%I.%I', schemaname, sequencename) AS name, coalesce(last_value, start_value) AS value,
    last_value IS NOT NULL AS is_called
FROM pg_sequences
WHERE schemaname NOT LIKE 'pg\_%' AND schemaname NOT LIKE 'landfast%' AND sequencename NOT LIKE 'landfast%'

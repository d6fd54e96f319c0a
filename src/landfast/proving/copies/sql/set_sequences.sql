-- As far as they have counted.
SELECT format('SELECT setval(%L, %s, true)', format('%I.%I', s.schemaname, s.sequencename), s.last_value)
FROM pg_sequences s JOIN pg_namespace n ON n.nspname = s.schemaname
WHERE s.last_value IS NOT NULL
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND s.sequencename NOT LIKE 'landfast%'

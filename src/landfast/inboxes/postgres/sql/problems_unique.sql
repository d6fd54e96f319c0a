-- The constraints that decide between twins: without one of them an event would run twice.
SELECT wanted.relation || ' (' || wanted.columns || ')'
FROM (
    VALUES ('identity', 'event_id'), ('work', 'event_id'), ('shelf', 'event_id'), ('body_weekly', 'received_at, event_id'),
        ('body_kept', 'received_at, event_id'), ('proof', 'proof')
) AS wanted (relation, columns)
WHERE NOT EXISTS (
    SELECT FROM pg_index AS x
    WHERE
        x.indrelid = to_regclass('landfast.' || wanted.relation)
        AND x.indisunique AND x.indisvalid AND x.indpred IS NULL
        AND wanted.columns = (
            SELECT string_agg(a.attname, ', ' ORDER BY k.place)
            FROM unnest(x.indkey::smallint[]) WITH ORDINALITY AS k (attnum, place)
            JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
        )
)

-- Of those that count what is unhandled: without one of them, workers do not know that there is anything to take up.
SELECT wanted.name
FROM unnest(ARRAY['shelf_unhandled_in', 'shelf_unhandled_out', 'shelf_unhandled_elsewhere']) AS wanted (name)
WHERE NOT EXISTS (
    SELECT FROM pg_trigger AS t
    WHERE
        t.tgrelid = to_regclass('landfast.shelf') AND t.tgname = wanted.name
        AND t.tgenabled IN ('O', 'A')
        AND t.tgfoid = to_regproc('landfast.count_unhandled')
)

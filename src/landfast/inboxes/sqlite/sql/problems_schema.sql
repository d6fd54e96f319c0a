SELECT type, name, sql FROM sqlite_schema
WHERE tbl_name IN ('meta', 'identity', 'body', 'work', 'shelf', 'history', 'boot', 'tally', 'redelivery', 'summary',
                   'switch', 'meter', 'counted', 'total', 'mark', 'unhandled_count')
  AND sql IS NOT NULL
ORDER BY type, name

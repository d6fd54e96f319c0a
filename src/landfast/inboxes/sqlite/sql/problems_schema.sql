SELECT type, name, sql FROM sqlite_schema
WHERE tbl_name IN ('meta', 'identity', 'body', 'work', 'shelf', 'history', 'boot', 'tally', 'redelivery', 'summary',
                   'switch', 'meter', 'counted', 'total', 'mark', 'unhandled_count',
                   'rate', 'rate_latest', 'rate_report', 'heartbeat', 'rejection', 'retention')
  AND sql IS NOT NULL
ORDER BY type, name

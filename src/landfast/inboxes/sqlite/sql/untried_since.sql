SELECT min(received_at)
FROM (SELECT received_at, run, tries FROM work WHERE token IS NULL AND suspect = 0 ORDER BY seq LIMIT 1000)
WHERE run = 1 AND tries = '{}'

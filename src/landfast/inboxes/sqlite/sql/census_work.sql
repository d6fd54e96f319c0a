SELECT count(*) FILTER (WHERE token IS NULL), count(*) FILTER (WHERE token IS NOT NULL),
       min(received_at) FILTER (WHERE token IS NULL)
FROM work

-- Above the mark; up to it the total knows. A sum over lines and not the rest of a difference, so that an event that is
-- nowhere makes the proof fail.
SELECT coalesce(sum((state = 'done')::integer - (was = 'done')::integer), 0)::bigint
FROM landfast.history WHERE seq > (SELECT seq FROM landfast.mark WHERE name = 'done')

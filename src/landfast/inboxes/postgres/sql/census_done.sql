-- Above the mark, which is called as the state is; up to it the total knows. A sum over lines and not the rest of a difference, so that an event that is
-- nowhere makes the proof fail.
SELECT coalesce(sum((state = $1)::integer - (was = $1)::integer), 0)::bigint
FROM landfast.history WHERE seq > (SELECT seq FROM landfast.mark WHERE name = $1)

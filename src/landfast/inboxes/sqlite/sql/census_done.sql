-- Above the mark, which is called as the state is; up to it the total knows. A sum over lines and not the rest of a
-- difference, so that an event that is nowhere makes the proof fail.
SELECT coalesce(sum((state = :done) - (was = :done)), 0)
FROM history WHERE seq > (SELECT seq FROM mark WHERE name = :done)

-- Unhandled events are counted already, and may be millions; the others are counted in an index.
SELECT state, count(*) FROM landfast.shelf WHERE state IN ('delayed', 'dead', 'held', 'paused') GROUP BY state
UNION ALL
SELECT 'unhandled', sum(n)::bigint FROM landfast.unhandled_count HAVING sum(n) > 0

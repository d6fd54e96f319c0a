-- As `domain.turnstile` has it, in one statement: hands queue for this row, so nobody holds it over a round trip. $1: its
-- name. $2 and $3: how many want to go through, and how many are behind them. $4: calls a second of the queue. $5 and $6:
-- calls a second, and how many may begin at once besides one. $7: what a float rounds away. $8: the longest wait.
-- The COMMIT may be lazy: what a crash of the server forgets is a tenth of a second.
WITH lazily AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting),
stile AS MATERIALIZED (
    SELECT t.free_at, t.queue_end, extract(EPOCH FROM landfast.clock())::double precision AS now
    FROM landfast.turnstile AS t CROSS JOIN lazily AS l
    WHERE t.name = $1 AND l.setting IS NOT NULL
    FOR UPDATE OF t
),
placed AS (
    SELECT
        now, queue_end,
        least(greatest(free_at, now), now + ($6::integer + 1) / $5::double precision) AS free_at,
        CASE
            WHEN queue_end > now + 2 * $8::double precision THEN now
            ELSE greatest(queue_end, now)
        END AS queue_start
    FROM stile
),
counted AS MATERIALIZED (
    SELECT
        *, greatest(0, least($2::integer, floor((now - free_at + $7::double precision) * $5 + $6) + 1))::integer AS granted
    FROM placed
),
kept AS (
    UPDATE landfast.turnstile AS t
    SET
        free_at = CASE WHEN $2 = 0 THEN t.free_at ELSE c.free_at + c.granted / $5 END,
        queue_end = CASE
            WHEN ($2 > 0 AND c.granted = $2) OR $2 - c.granted + $3::integer = 0 THEN c.queue_end
            ELSE least(c.queue_start + ($2 - c.granted + $3) / $4::double precision, c.now + $8)
        END
    FROM counted AS c
    WHERE t.name = $1
)
SELECT granted, queue_start - now AS queue FROM counted

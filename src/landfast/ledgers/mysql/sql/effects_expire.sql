-- Those between two numbers that are over for longer than their age. What another one still waits for, or takes the
-- result of, stays; except for the dead, with whom goes what waits for them.
DELETE effect
FROM landfast_effect AS effect
LEFT JOIN (
    SELECT DISTINCT awaited, run FROM landfast_effect_wait
) AS later ON later.awaited = effect.`key` AND later.run = effect.run
LEFT JOIN (
    SELECT DISTINCT earlier.`key`, earlier.run
    FROM landfast_effect_wait AS earlier
    LEFT JOIN landfast_effect AS awaited ON awaited.`key` = earlier.awaited AND awaited.run = earlier.run
    WHERE awaited.seq IS NULL
) AS stranded ON stranded.`key` = effect.`key` AND stranded.run = effect.run
WHERE effect.seq > %(after)s AND (%(upto)s IS NULL OR effect.seq <= %(upto)s)
  AND (
    (
        effect.state = %(done)s AND effect.done_at < UTC_TIMESTAMP(6) - INTERVAL %(done_effects)s MICROSECOND
        AND later.awaited IS NULL
    )
    OR (effect.state = %(dead)s AND effect.done_at < UTC_TIMESTAMP(6) - INTERVAL %(dead_effects)s MICROSECOND)
    OR (effect.state = %(waiting)s AND stranded.`key` IS NOT NULL)
  )

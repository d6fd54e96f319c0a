-- Of effects that have expired.
DELETE gone
FROM landfast_effect_wait AS gone
LEFT JOIN landfast_effect AS later ON later.`key` = gone.`key` AND later.run = gone.run
WHERE later.seq IS NULL

-- Of effects that have expired.
DELETE FROM landfast_effect_wait
WHERE NOT EXISTS (
    SELECT 1 FROM landfast_effect AS later
    WHERE later.key = landfast_effect_wait.key AND later.run = landfast_effect_wait.run
)

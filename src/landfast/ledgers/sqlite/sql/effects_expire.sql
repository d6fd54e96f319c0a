-- Those between two numbers that are over for longer than their age. What another one still waits for, or takes the
-- result of, stays; except for the dead, with whom goes what waits for them.
DELETE FROM landfast_effect
WHERE seq > :after AND (:upto IS NULL OR seq <= :upto)
  AND (
    (
        state = :done AND done_at < :done_before
        AND NOT EXISTS (
            SELECT 1 FROM landfast_effect_wait AS later
            WHERE later.awaited = landfast_effect.key AND later.run = landfast_effect.run
        )
    )
    OR (state = :dead AND done_at < :dead_before)
    OR (
        state = :waiting AND EXISTS (
            SELECT 1 FROM landfast_effect_wait AS earlier
            WHERE earlier.key = landfast_effect.key AND earlier.run = landfast_effect.run
              AND NOT EXISTS (
                SELECT 1 FROM landfast_effect AS awaited
                WHERE awaited.key = earlier.awaited AND awaited.run = earlier.run
              )
        )
    )
  )

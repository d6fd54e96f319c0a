-- Those between two keys that were not moved for as long as a receipt is kept, and that nobody waits for.
DELETE FROM landfast_arrival
WHERE key > :after AND (:upto IS NULL OR key <= :upto) AND moved_at < :before
  AND NOT EXISTS (SELECT 1 FROM landfast_effect_wait AS wait WHERE wait.awaited = landfast_arrival.key)

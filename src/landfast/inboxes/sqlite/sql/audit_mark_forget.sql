-- Those beyond it are of a life that a restore has undone; of those before it, :kept are enough.
DELETE FROM mark
WHERE name = 'audit'
  AND (seq > :seq OR seq <= (SELECT seq FROM mark WHERE name = 'audit' AND seq <= :seq ORDER BY seq DESC LIMIT 1 OFFSET :kept))

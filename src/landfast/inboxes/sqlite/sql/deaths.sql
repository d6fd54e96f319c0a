SELECT seq, event_id, run FROM history
WHERE seq > :after AND seq <= :upto AND signal IN (SELECT value FROM json_each(:signals))
ORDER BY seq LIMIT :limit

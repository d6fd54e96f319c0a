-- The total is called as the state that it counts.
INSERT INTO total (name, source, value)
SELECT :done, '', coalesce(sum((state = :done) - (was = :done)), 0) FROM history WHERE seq > :after AND seq <= :upto
ON CONFLICT DO UPDATE SET value = value + excluded.value

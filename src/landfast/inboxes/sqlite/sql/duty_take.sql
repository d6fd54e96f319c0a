INSERT INTO duty (task, holder, until) VALUES (:task, :holder, :until)
ON CONFLICT DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE duty.holder = excluded.holder OR duty.until + :patience <= :now
RETURNING task

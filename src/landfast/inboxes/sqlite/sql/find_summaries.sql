SELECT event_id, source, key, type, entity, occurred_at, received_at, state, run, reason, error, message, handler,
       due_at, redelivered, erased_at
FROM summary
WHERE seq = ?

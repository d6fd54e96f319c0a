SELECT a.event_id, a.source, a.key, a.type, a.entity, a.occurred_at, a.received_at, a.state, a.run, a.reason, a.error,
       a.message, a.handler, coalesce(s.line, ''), s.shelved_at, a.due_at, a.redelivered, a.erased_at, a.expired_at
FROM summary a
LEFT JOIN shelf s ON s.body_seq = a.seq AND s.event_id = a.event_id
WHERE a.seq = ?

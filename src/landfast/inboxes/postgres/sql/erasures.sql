SELECT e.event_id, e.erased_at, e.who, e.is_clean, b.source, b.key
FROM landfast.erasure AS e
LEFT JOIN landfast.identity AS i ON i.event_id = e.event_id
LEFT JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
ORDER BY e.erased_at, e.event_id

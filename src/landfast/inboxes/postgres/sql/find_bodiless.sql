-- What waits without its body: the key is gone with it.
SELECT
    event_id, source, '' AS key, type, lane AS entity, NULL::timestamptz AS occurred_at, received_at, state, run, reason,
    error, message, handler, line, shelved_at, due_at, 0 AS redelivered, NULL::timestamptz AS erased_at,
    NULL::timestamptz AS expired_at, '[]'::bytea AS headers, ''::bytea AS body, tries
FROM landfast.shelf
WHERE event_id = $1

UPDATE shelf
SET state = 'dead', due_at = NULL, lane = NULL, tries = '{}', handler = '', reason = 'erased', error = '', message = ''
WHERE body_seq = :seq AND event_id = :event_id
RETURNING run

INSERT INTO shelf (body_seq, event_id, received_at, source, type, lane, place, reason, state, run, forced, suspect, crashes,
                   tries, handler, error, message)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, 0, '{}', '', '', '')

INSERT INTO work (body_seq, event_id, received_at, source, type, lane, place, holds, run, forced, suspect, crashes, tries)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, 0, '{}')

-- The second half of a move from shelf to work, in the same transaction.
DELETE FROM shelf WHERE body_seq = ? AND event_id = ?

-- The second half of a move from work to shelf, in the same transaction.
DELETE FROM work WHERE event_id = ?

-- The receipts have decided: event and run, whoever holds the lease.
DELETE FROM work WHERE event_id = :event_id AND run = :run
RETURNING received_at

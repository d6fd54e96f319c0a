-- By those that wait ($2 is null) and by those that come ($2 is the event), in sorted order. A row that is not there
-- cannot be locked: so it is made. `age` is in seconds, and null where none has come yet.
INSERT INTO landfast_ledger.arrival AS known (key, event, handled_at)
SELECT key, event, CASE WHEN event IS NOT NULL THEN landfast_ledger.clock() END
FROM unnest($1::text[], $2::text[]) AS given (key, event)
ON CONFLICT (key) DO UPDATE
SET event = coalesce(excluded.event, known.event),
    handled_at = coalesce(excluded.handled_at, known.handled_at),
    moved_at = landfast_ledger.clock()
RETURNING key, event, extract(epoch FROM landfast_ledger.clock() - handled_at)::double precision AS age

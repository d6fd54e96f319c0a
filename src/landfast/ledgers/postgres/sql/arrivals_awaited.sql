-- Effects that stand for an event that has come, and the event.
SELECT wait.key, wait.run, given.event
FROM unnest($1::text[], $2::text[]) AS given (awaited, event)
JOIN landfast_ledger.effect_wait AS wait ON wait.awaited = given.awaited

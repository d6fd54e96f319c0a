-- A copy of the inbox that is $2 seconds old, and a day more, has none of them any longer.
DELETE FROM landfast_ledger.kept
WHERE inbox = $1 AND seen_at < landfast_ledger.clock() - make_interval(secs => $2) - interval '1 day'

-- What they waited for is nobody's concern any more, and may expire.
DELETE FROM landfast_ledger.effect_wait AS gone
USING unnest($1::text[], $2::integer[]) AS done (key, run)
WHERE gone.key = done.key AND gone.run = done.run

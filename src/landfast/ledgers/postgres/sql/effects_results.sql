SELECT effect.key, effect.run, effect.result
FROM landfast_ledger.effect AS effect
JOIN unnest($1::text[], $2::integer[]) AS given (key, run) ON effect.key = given.key AND effect.run = given.run

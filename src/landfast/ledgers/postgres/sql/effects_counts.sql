SELECT state, count(*) AS count FROM landfast_ledger.effect GROUP BY state

SELECT state, COUNT(*) AS count FROM landfast_effect GROUP BY state

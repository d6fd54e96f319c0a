SELECT state, count(*) AS count FROM landfast_effect GROUP BY state

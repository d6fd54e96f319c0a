SELECT state, count(*) FROM shelf GROUP BY state

-- Of the :states, counted in an index. What is unhandled is counted already, and may be millions: `census_unhandled`.
SELECT state, count(*) FROM shelf WHERE state IN (SELECT value FROM json_each(:states)) GROUP BY state

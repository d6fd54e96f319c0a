-- Of the states $1, counted in an index. What is unhandled is counted already, and may be millions: `census_unhandled`.
SELECT state, count(*) FROM landfast.shelf WHERE state = ANY ($1::text[]) GROUP BY state

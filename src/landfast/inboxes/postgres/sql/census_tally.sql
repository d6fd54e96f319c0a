SELECT
    source, sum(received)::bigint AS received, sum(stored)::bigint AS stored, sum(duplicate)::bigint AS duplicate,
    sum(rejected)::bigint AS rejected
FROM landfast.tally GROUP BY source

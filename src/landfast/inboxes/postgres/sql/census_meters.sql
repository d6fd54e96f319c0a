-- Totals over all boots; what $1 names says how much there is now, and counts while its boot reports. Of what $3
-- names, the largest.
SELECT name, CASE WHEN name = ANY ($3::text[]) THEN max(value) ELSE sum(value)::bigint END AS value
FROM landfast.meter JOIN landfast.boot USING (boot)
WHERE
    NOT starts_with(name, 'spool_adopted:') AND NOT name = ANY ($1::text[])
    OR (name = ANY ($1::text[]) AND NOT ended AND reported_at > landfast.clock() - make_interval(secs => $2))
GROUP BY name

-- Totals over all boots; what $1 names says how much there is now, and counts while its boot reports. All drainers look
-- at one journal: of what they see, the largest.
SELECT name, CASE name WHEN 'journal_backlog' THEN max(value) ELSE sum(value)::bigint END AS value
FROM landfast.meter JOIN landfast.boot USING (boot)
WHERE
    NOT name = ANY ($1::text[])
    OR (NOT ended AND reported_at > landfast.clock() - make_interval(secs => $2))
GROUP BY name

-- Totals over all boots, and whether the boot still reports: what says how much there is now counts only then. All
-- drainers look at one journal, and no request brought more events than the largest.
SELECT
    m.name,
    CASE WHEN m.name IN ('journal_backlog', 'largest_request') THEN max(m.value) ELSE sum(m.value) END,
    NOT b.ended AND b.seen_at >= :silent_since AS running
FROM meter m
JOIN boot b ON b.boot = m.boot
WHERE m.name NOT LIKE 'spool_adopted:%'
GROUP BY m.name, running

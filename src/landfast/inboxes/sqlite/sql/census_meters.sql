-- Totals over all boots, and whether the boot still reports: what says how much there is now counts only then. All
-- drainers look at one journal: of what they see, the largest.
SELECT
    m.name,
    CASE m.name WHEN 'journal_backlog' THEN max(m.value) ELSE sum(m.value) END,
    NOT b.ended AND b.seen_at >= :silent_since AS running
FROM meter m
JOIN boot b ON b.boot = m.boot
GROUP BY m.name, running

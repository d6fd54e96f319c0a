-- Boots whose counts are not folded into the totals yet, with what waits in their spools by their last report: nothing
-- where another one has taken the spool over.
SELECT b.boot, NOT b.ended AND b.seen_at >= :silent_since, b.ended, b.owes,
       coalesce((SELECT m.value FROM meter m WHERE m.boot = b.boot AND m.name = 'spool_records'
                 AND NOT EXISTS (SELECT 1 FROM meter a WHERE a.name = 'spool_adopted:' || lower(hex(b.boot)))), 0)
FROM boot b
WHERE EXISTS (SELECT 1 FROM tally t WHERE t.boot = b.boot) OR EXISTS (SELECT 1 FROM counted c WHERE c.boot = b.boot)
ORDER BY b.seen_at

-- Boots whose counts are not folded into the totals yet, with what waits in their spools by their last report.
SELECT b.boot, NOT b.ended AND b.seen_at >= :silent_since, b.ended, b.owes,
       coalesce((SELECT m.value FROM meter m WHERE m.boot = b.boot AND m.name = 'spool_records'), 0)
FROM boot b
WHERE EXISTS (SELECT 1 FROM tally t WHERE t.boot = b.boot) OR EXISTS (SELECT 1 FROM counted c WHERE c.boot = b.boot)
ORDER BY b.seen_at

-- Boots that are folded and over, since before :ended where they said goodbye, or silent since before :silent. One with a
-- spool stays, and so does the one that took it over, until the first is folded: a proof needs both.
SELECT b.boot FROM boot b
WHERE b.seen_at < iif(b.ended, :ended, :silent)
  AND NOT EXISTS (SELECT 1 FROM tally t WHERE t.boot = b.boot)
  AND NOT EXISTS (SELECT 1 FROM counted c WHERE c.boot = b.boot)
  AND NOT EXISTS (
      SELECT 1 FROM meter m
      WHERE m.boot = b.boot AND (
          (m.name = 'spool_records' AND m.value > 0)
          OR EXISTS (SELECT 1 FROM boot d WHERE m.name = 'spool_adopted:' || lower(hex(d.boot)))))

-- Boots that said goodbye before :ended, or are silent since before :silent, and whose counts agree, with nothing left in
-- a spool. Others stay, and are named.
SELECT b.boot FROM boot b
WHERE b.seen_at < iif(b.ended, :ended, :silent)
  AND (EXISTS (SELECT 1 FROM tally t WHERE t.boot = b.boot) OR EXISTS (SELECT 1 FROM counted c WHERE c.boot = b.boot))
  AND NOT EXISTS (
      SELECT 1 FROM tally t WHERE t.boot = b.boot AND t.received <> t.stored + t.duplicate + t.rejected)
  AND NOT EXISTS (SELECT 1 FROM meter m WHERE m.boot = b.boot AND m.name = 'spool_records' AND m.value > 0)
  AND (NOT b.owes OR
       (SELECT coalesce(sum(t.stored - t.elsewhere), 0) FROM tally t WHERE t.boot = b.boot)
       = (SELECT coalesce(sum(c.stored), 0) FROM counted c WHERE c.boot = b.boot AND c.slot >= 0))

-- By the same rule as receipts. There are as many as operators have erased.
DELETE FROM landfast_erasure
WHERE erased_at < :before
  AND erased_at < (SELECT coalesce(min(coalesce(kept_to, 0)), 0) FROM landfast_ledger_inbox) - :margin
  AND NOT EXISTS (SELECT 1 FROM landfast_kept k WHERE k.digest = landfast_erasure.digest)

-- Those between two digests that are older than :before, and :margin older than what every bound inbox has spoken for;
-- where one has not spoken yet, none.
DELETE FROM landfast_receipt
WHERE digest > :after AND (:upto IS NULL OR digest <= :upto)
  AND created_at < :before
  AND created_at < (SELECT coalesce(min(coalesce(kept_to, 0)), 0) FROM landfast_ledger_inbox) - :margin
  AND NOT EXISTS (SELECT 1 FROM landfast_kept k WHERE k.digest = landfast_receipt.digest)

-- By the same rule as receipts. There are as many as operators have erased.
DELETE FROM landfast_erasure
WHERE erased_at < UTC_TIMESTAMP(6) - INTERVAL %(receipts)s MICROSECOND
  AND erased_at < (SELECT coalesce(min(coalesce(kept_to, '1000-01-02')), '1000-01-02') FROM landfast_ledger_inbox)
                  - INTERVAL %(margin)s MICROSECOND
  AND NOT EXISTS (SELECT 1 FROM landfast_kept k WHERE k.digest = landfast_erasure.digest)

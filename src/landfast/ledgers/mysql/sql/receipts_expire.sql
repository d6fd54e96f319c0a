-- Those between two digests that are older than their age, and %(margin)s older than what every bound inbox has spoken
-- for; where one has not spoken yet, none.
DELETE FROM landfast_receipt
WHERE digest > %(after)s AND (%(upto)s IS NULL OR digest <= %(upto)s)
  AND created_at < UTC_TIMESTAMP(6) - INTERVAL %(receipts)s MICROSECOND
  AND created_at < (SELECT coalesce(min(coalesce(kept_to, '1000-01-02')), '1000-01-02') FROM landfast_ledger_inbox)
                   - INTERVAL %(margin)s MICROSECOND
  AND NOT EXISTS (SELECT 1 FROM landfast_kept k WHERE k.digest = landfast_receipt.digest)

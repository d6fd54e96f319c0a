-- By the same rule as receipts. There are as many as operators have erased.
DELETE FROM landfast_ledger.erasure AS erasure
WHERE erasure.erased_at < landfast_ledger.clock() - make_interval(secs => $1)
    AND erasure.erased_at < (
        SELECT coalesce(min(coalesce(inbox.kept_to, '-infinity')), '-infinity') - make_interval(secs => $2)
        FROM landfast_ledger.inbox AS inbox
    )
    AND NOT EXISTS (SELECT FROM landfast_ledger.kept AS kept WHERE kept.digest = erasure.digest)

-- Marks beyond it are of a life that a restore has undone; of those before it, :kept are enough.
DELETE FROM landfast_audit_mark
WHERE inbox = :inbox
  AND (seq > :seq OR seq <= (SELECT seq FROM landfast_audit_mark WHERE inbox = :inbox AND seq <= :seq
                             ORDER BY seq DESC LIMIT 1 OFFSET :kept))

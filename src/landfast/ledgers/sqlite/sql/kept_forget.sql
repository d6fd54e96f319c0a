-- No copy of the inbox that may be restored has any of them.
DELETE FROM landfast_kept WHERE inbox = :inbox AND seen_at < :before

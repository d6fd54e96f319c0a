-- Of an inbox that is gone for good.
DELETE FROM landfast_kept WHERE inbox = :inbox

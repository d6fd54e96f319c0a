DELETE FROM landfast_receipt
WHERE digest = :digest AND handler = :handler AND run = :run

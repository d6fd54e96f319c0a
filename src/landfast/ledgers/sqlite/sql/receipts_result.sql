UPDATE landfast_receipt SET result = :result
WHERE digest = :digest AND handler = :handler AND run = :run

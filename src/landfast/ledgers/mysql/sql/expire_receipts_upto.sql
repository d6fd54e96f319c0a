-- The digest that ends the next %(rows)s receipts; none where fewer are left.
SELECT digest AS upto FROM landfast_receipt WHERE digest > %(after)s ORDER BY digest LIMIT 1 OFFSET %(rows)s

-- The digest that ends the next :rows receipts; none where fewer are left.
SELECT digest FROM landfast_receipt WHERE digest > :after ORDER BY digest LIMIT 1 OFFSET :rows

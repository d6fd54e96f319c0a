-- The proof that ends the next :window; none where fewer are left.
SELECT proof FROM proof WHERE proof > :after_id ORDER BY proof LIMIT 1 OFFSET :window

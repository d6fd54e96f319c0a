-- Kept for the counting of what is stored.
SELECT 1;

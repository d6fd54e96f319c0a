-- Takes old rows out, oldest first.
DELETE FROM rate
WHERE rowid IN (
    SELECT rowid FROM rate WHERE seconds = :seconds AND minute < :before ORDER BY minute LIMIT :limit
)
RETURNING minute, meter, source, type, handler, detail, count, histogram, seconds

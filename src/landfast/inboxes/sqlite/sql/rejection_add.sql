-- The count of a row is that of its minute so far: one that comes again, because its answer was lost, changes nothing.
INSERT INTO rejection (minute, boot, source, cause, address, at, path, status, headers, count)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET count = max(count, excluded.count)

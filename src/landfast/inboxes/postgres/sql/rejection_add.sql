-- The count of a row is that of its minute so far: one that comes again, because its answer was lost, changes nothing.
INSERT INTO landfast.rejection AS r (minute, boot, source, cause, address, at, path, status, headers, count)
SELECT u.minute, $1, u.source, u.cause, u.address, u.at, u.path, u.status, u.headers, u.count
FROM unnest(
    $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::integer[], $9::text[],
    $10::bigint[]
) AS u (minute, source, cause, address, at, path, status, headers, count)
ON CONFLICT (minute, boot, source, cause, address) DO UPDATE SET count = greatest(r.count, EXCLUDED.count)

SELECT minute, meter, source, type, handler, detail, count, histogram, seconds
FROM landfast.rate
WHERE
    seconds = ANY ($1::integer[])
    AND minute >= $2 AND ($3::timestamptz IS NULL OR minute < $3)
    AND ($4::text[] IS NULL OR meter = ANY ($4))
    AND ($5::text IS NULL OR source = $5)
ORDER BY minute, seconds DESC, meter, source, type, handler, detail

-- One statement, so that the number and the counts are there together, or neither. Sorted: two processes that add to the
-- same rows do not deadlock. Arrays of arrays are taken apart by unnest, so each histogram comes as text.
WITH first AS (
    INSERT INTO landfast.rate_report AS r (boot, number, at)
    SELECT $1::bytea, $2::bigint, landfast.clock() WHERE $2::bigint IS NOT NULL
    ON CONFLICT (boot) DO UPDATE SET number = EXCLUDED.number, at = EXCLUDED.at WHERE r.number < EXCLUDED.number
    RETURNING boot
),
added AS (
    SELECT u.seconds, u.minute, u.meter, u.source, u.type, u.handler, u.detail, u.count, u.histogram::bigint[]
    FROM unnest(
        $3::integer[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
        $11::text[]
    ) AS u (seconds, minute, meter, source, type, handler, detail, count, histogram)
    WHERE $2::bigint IS NULL OR EXISTS (SELECT FROM first)
),
latest AS (
    INSERT INTO landfast.rate_latest AS l (meter, source, handler, at)
    SELECT meter, source, handler, least(landfast.clock(), max(minute) + interval '1 minute')
    FROM added GROUP BY meter, source, handler ORDER BY meter, source, handler
    ON CONFLICT (meter, source, handler) DO UPDATE SET at = EXCLUDED.at WHERE l.at < EXCLUDED.at
)
INSERT INTO landfast.rate AS r (seconds, minute, meter, source, type, handler, detail, count, histogram)
SELECT * FROM added ORDER BY seconds, minute, meter, source, type, handler, detail
ON CONFLICT (seconds, minute, meter, source, type, handler, detail) DO UPDATE SET
    count = r.count + EXCLUDED.count,
    histogram = CASE
        WHEN EXCLUDED.histogram = '{}' THEN r.histogram
        WHEN r.histogram = '{}' THEN EXCLUDED.histogram
        ELSE (
            SELECT array_agg(coalesce(h.mine, 0) + coalesce(h.theirs, 0) ORDER BY h.place)
            FROM unnest(r.histogram, EXCLUDED.histogram) WITH ORDINALITY AS h (mine, theirs, place)
        )
    END

INSERT INTO rate (seconds, minute, meter, source, type, handler, detail, count, histogram)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    count = count + excluded.count,
    histogram = CASE
        WHEN excluded.histogram = '[]' THEN histogram
        WHEN histogram = '[]' THEN excluded.histogram
        ELSE (
            SELECT json_group_array(mine.value + theirs.value)
            FROM json_each(rate.histogram) AS mine
            JOIN json_each(excluded.histogram) AS theirs ON theirs.key = mine.key
        )
    END

-- The newest stay; of one source a part of them, so that a flood at one address pushes nobody else's out.
DELETE FROM rejection
WHERE rowid IN (
    SELECT rowid
    FROM (
        SELECT
            rowid,
            row_number() OVER (ORDER BY at DESC) AS place,
            row_number() OVER (PARTITION BY source ORDER BY at DESC) AS place_of_its_source
        FROM rejection
    )
    WHERE place > :kept OR place_of_its_source > :kept_of_one
)

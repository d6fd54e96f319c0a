-- The newest stay; of one source a part of them, so that a flood at one address pushes nobody else's out.
DELETE FROM landfast.rejection AS r
USING (
    SELECT
        ctid,
        row_number() OVER (ORDER BY at DESC) AS place,
        row_number() OVER (PARTITION BY source ORDER BY at DESC) AS place_of_its_source
    FROM landfast.rejection
) AS ranked
WHERE r.ctid = ranked.ctid AND (ranked.place > $1 OR ranked.place_of_its_source > $2)

-- Boots that are folded and over, $1 seconds after their goodbye, or $2 after they fell silent: what they counted besides
-- deliveries becomes a total ($3 names what says how much there is now, and is none; $4 that of which the largest counts).
-- One with a spool stays, and so does the one that took it over, until the first is folded: a proof needs both. Only what
-- is deleted here is counted, so two who do this at the same time count it once.
WITH over AS MATERIALIZED (
    SELECT b.boot FROM landfast.boot AS b
    WHERE
        b.reported_at < landfast.clock() - make_interval(secs => CASE WHEN b.ended THEN $1::float8 ELSE $2::float8 END)
        AND NOT EXISTS (SELECT FROM landfast.tally AS t WHERE t.boot = b.boot)
        AND NOT EXISTS (SELECT FROM landfast.counted AS c WHERE c.boot = b.boot)
        AND NOT EXISTS (
            SELECT FROM landfast.meter AS m
            WHERE
                m.boot = b.boot
                AND (
                    m.name = 'spool_records' AND m.value > 0
                    OR EXISTS (
                        SELECT FROM landfast.boot AS d WHERE m.name = 'spool_adopted:' || encode(d.boot, 'hex')
                    )
                )
        )
),
gone AS (
    DELETE FROM landfast.boot WHERE boot IN (SELECT boot FROM over)
),
counted AS (
    DELETE FROM landfast.meter WHERE boot IN (SELECT boot FROM over) RETURNING name, value
)
INSERT INTO landfast.total AS t (name, source, value)
SELECT 'meter:' || name, '', CASE WHEN name = ANY ($4::text[]) THEN max(value) ELSE sum(value) END
FROM counted
WHERE NOT name = ANY ($3::text[]) AND NOT starts_with(name, 'spool_adopted:')
GROUP BY name ORDER BY name
ON CONFLICT (name, source) DO UPDATE
SET value = CASE
    WHEN substr(EXCLUDED.name, 7) = ANY ($4::text[]) THEN greatest(t.value, EXCLUDED.value) ELSE t.value + EXCLUDED.value
END

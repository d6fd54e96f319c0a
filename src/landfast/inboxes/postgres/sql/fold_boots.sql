-- Boots that said goodbye $1 seconds ago, or have said nothing for $2, and whose counts agree, with nothing left in a spool:
-- their rows become totals. Others stay, and are named.
WITH settled AS MATERIALIZED (
    SELECT b.boot FROM landfast.boot AS b
    WHERE
        b.reported_at < landfast.clock() - make_interval(secs => CASE WHEN b.ended THEN $1::float8 ELSE $2::float8 END)
        AND NOT EXISTS (
            SELECT FROM landfast.tally AS t
            WHERE t.boot = b.boot AND t.received <> t.stored + t.duplicate + t.rejected
        )
        AND NOT EXISTS (
            SELECT FROM landfast.meter AS m WHERE m.boot = b.boot AND m.name = 'spool_records' AND m.value > 0
        )
        AND (
            NOT b.owes OR (
                SELECT coalesce(sum(t.stored - t.elsewhere), 0) FROM landfast.tally AS t WHERE t.boot = b.boot
            ) = (
                SELECT coalesce(sum(c.stored), 0) FROM landfast.counted AS c WHERE c.boot = b.boot AND c.slot >= 0
            )
        )
),
counted AS (
    DELETE FROM landfast.counted WHERE boot IN (SELECT boot FROM settled) RETURNING slot, source, stored, deliveries, again
),
told AS (
    DELETE FROM landfast.tally WHERE boot IN (SELECT boot FROM settled) RETURNING *
),
folded (name, source, value) AS (
    SELECT CASE WHEN slot < 0 THEN 'drained' ELSE 'recorded' END, source, stored FROM counted
    UNION ALL SELECT 'deliveries_drained', source, deliveries FROM counted
    UNION ALL SELECT 'again', source, again FROM counted
    UNION ALL
    SELECT 'told:' || count.name, source, count.value
    FROM told
    CROSS JOIN LATERAL (
        VALUES ('received', received), ('stored', stored), ('duplicate', duplicate), ('rejected', rejected),
            ('elsewhere', elsewhere), ('requests_elsewhere', requests_elsewhere)
    ) AS count (name, value)
)
INSERT INTO landfast.total AS t (name, source, value)
SELECT name, source, sum(value) FROM folded GROUP BY name, source ORDER BY name, source
ON CONFLICT (name, source) DO UPDATE SET value = t.value + EXCLUDED.value

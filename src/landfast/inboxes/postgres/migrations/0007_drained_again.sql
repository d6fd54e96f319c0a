-- How many deliveries a drainer found here by that very delivery. As many of those that an intake recorded and told of in
-- a spool may have come so. For what was drained before, as many as there can be.
ALTER TABLE landfast.counted ADD COLUMN again bigint NOT NULL DEFAULT 0;
INSERT INTO landfast.total (name, source, value)
SELECT 'again', '', coalesce(sum(least(greatest(s.stored - t.here, 0), t.elsewhere)), 0)
FROM (SELECT boot, sum(stored) AS stored FROM landfast.counted WHERE slot >= 0 GROUP BY boot) AS s
JOIN (
    SELECT boot, sum(stored - elsewhere) AS here, sum(elsewhere) AS elsewhere FROM landfast.tally GROUP BY boot
) AS t USING (boot);

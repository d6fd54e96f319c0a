-- How many deliveries a drainer found here by that very delivery. As many of those that an intake recorded and told of in
-- a spool may have come so. For what was drained before, as many as there can be.
ALTER TABLE counted ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
INSERT INTO total (name, source, value)
SELECT 'again', '', coalesce(sum(min(max(s.stored - t.here, 0), t.elsewhere)), 0)
FROM (SELECT boot, sum(stored) AS stored FROM counted WHERE slot >= 0 GROUP BY boot) AS s
JOIN (
    SELECT boot, sum(stored - elsewhere) AS here, sum(elsewhere) AS elsewhere FROM tally GROUP BY boot
) AS t USING (boot);

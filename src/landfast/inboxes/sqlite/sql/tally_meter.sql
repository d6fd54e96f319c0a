-- The newest report is right: a total has grown, and a gauge may have come down.
INSERT INTO meter (boot, name, value) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET value = excluded.value

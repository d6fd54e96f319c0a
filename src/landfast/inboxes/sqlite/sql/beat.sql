INSERT INTO heartbeat (boot, role, host, pid, started_at, seen_at, skew, doing)
VALUES (:boot, :role, :host, :pid, :started_at, :now, :skew, :doing)
ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at, skew = excluded.skew, doing = excluded.doing

-- How far its clock is from ours is known at this moment alone.
INSERT INTO landfast.heartbeat (boot, role, host, pid, started_at, seen_at, skew, doing)
VALUES ($1, $2, $3, $4, $5, landfast.clock(), extract(epoch FROM $6::timestamptz - landfast.clock()), $7)
ON CONFLICT (boot) DO UPDATE SET seen_at = EXCLUDED.seen_at, skew = EXCLUDED.skew, doing = EXCLUDED.doing

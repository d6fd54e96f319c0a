SELECT boot, role, host, pid, started_at, seen_at, doing, skew, (:now - seen_at) / 1e6
FROM heartbeat
ORDER BY role, host, pid, boot

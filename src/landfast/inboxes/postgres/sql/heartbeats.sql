SELECT
    boot, role, host, pid, started_at, seen_at, doing, skew,
    extract(epoch FROM landfast.clock() - seen_at)::double precision AS age
FROM landfast.heartbeat
ORDER BY role, host, pid, boot

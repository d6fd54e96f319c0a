DELETE FROM heartbeat WHERE seen_at < :before

-- One that was named within the last day need not be written again.
INSERT INTO landfast_kept (digest, inbox, seen_at) VALUES (%(digest)s, %(inbox)s, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
    seen_at = IF(landfast_kept.seen_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY, UTC_TIMESTAMP(6), landfast_kept.seen_at)

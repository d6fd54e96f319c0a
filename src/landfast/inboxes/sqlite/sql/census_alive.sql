SELECT count(*) FILTER (WHERE seen_at >= :silent_since), count(*) FILTER (WHERE seen_at < :silent_since),
       min(seen_at) FILTER (WHERE seen_at >= :silent_since)
FROM boot
WHERE NOT ended

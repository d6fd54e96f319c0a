SELECT
    boot,
    coalesce(sum(stored) FILTER (WHERE slot >= 0), 0)::bigint AS recorded,
    coalesce(sum(stored) FILTER (WHERE slot < 0), 0)::bigint AS drained,
    sum(deliveries)::bigint AS deliveries_drained,
    sum(again)::bigint AS again
FROM landfast.counted GROUP BY boot

SELECT boot, coalesce(sum(stored) FILTER (WHERE slot >= 0), 0), coalesce(sum(stored) FILTER (WHERE slot < 0), 0),
       sum(deliveries), sum(again)
FROM counted
GROUP BY boot

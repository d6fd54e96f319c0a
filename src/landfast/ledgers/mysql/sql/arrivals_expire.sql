-- Those between two keys that were not moved for as long as a receipt is kept, and that nobody waits for.
DELETE arrival
FROM landfast_arrival AS arrival
LEFT JOIN landfast_effect_wait AS wait ON wait.awaited = arrival.`key`
WHERE arrival.`key` > %(after)s AND (%(upto)s IS NULL OR arrival.`key` <= %(upto)s)
  AND arrival.moved_at < UTC_TIMESTAMP(6) - INTERVAL %(receipts)s MICROSECOND AND wait.`key` IS NULL

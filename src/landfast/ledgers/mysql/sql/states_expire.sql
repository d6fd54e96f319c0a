-- Those between two lanes that were not moved for as long as a receipt is kept, and from which nothing leads on.
DELETE FROM landfast_lane_state
WHERE lane > %(after)s AND (%(upto)s IS NULL OR lane <= %(upto)s)
  AND is_last AND moved_at < UTC_TIMESTAMP(6) - INTERVAL %(receipts)s MICROSECOND

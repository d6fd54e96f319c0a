-- Those between two lanes that were not moved for as long as a receipt is kept.
DELETE FROM landfast_lane_mark
WHERE lane > %(after)s AND (%(upto)s IS NULL OR lane <= %(upto)s)
  AND moved_at < UTC_TIMESTAMP(6) - INTERVAL %(receipts)s MICROSECOND

-- Those between two lanes that were not moved for as long as a receipt is kept.
DELETE FROM landfast_lane_mark
WHERE lane > :after AND (:upto IS NULL OR lane <= :upto) AND moved_at < :before

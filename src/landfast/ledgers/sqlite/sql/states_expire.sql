-- Those between two lanes that were not moved for as long as a receipt is kept, and from which nothing leads on.
DELETE FROM landfast_lane_state
WHERE lane > :after AND (:upto IS NULL OR lane <= :upto) AND is_last AND moved_at < :before

-- By those that wait (the event is null) and by those that come, in sorted order. A row that is not there cannot be
-- locked: so it is made. MySQL assigns from left to right.
INSERT INTO landfast_arrival (`key`, event, handled_at, moved_at)
VALUES
-- for each
(%(key)s, %(event)s, CASE WHEN %(event)s IS NOT NULL THEN UTC_TIMESTAMP(6) END, UTC_TIMESTAMP(6))
-- so far
ON DUPLICATE KEY UPDATE
    handled_at = COALESCE(VALUES(handled_at), landfast_arrival.handled_at),
    event = COALESCE(VALUES(event), landfast_arrival.event),
    moved_at = VALUES(moved_at)

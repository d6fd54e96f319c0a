-- By those that wait (:event is null) and by those that come. Whoever writes here is the only one.
INSERT INTO landfast_arrival (key, event, handled_at, moved_at)
VALUES (:key, :event, CASE WHEN :event IS NOT NULL THEN :now END, :now)
ON CONFLICT (key) DO UPDATE
SET event = coalesce(excluded.event, event),
    handled_at = coalesce(excluded.handled_at, handled_at),
    moved_at = excluded.moved_at

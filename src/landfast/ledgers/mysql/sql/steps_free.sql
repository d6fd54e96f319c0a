-- One of those that it waits for is done. %(free)s is what it becomes if that was the last one, and %(scheduled)s what it
-- becomes if it has a time. MySQL assigns from left to right, so the count changes last.
UPDATE landfast_effect
SET state = CASE WHEN waits > 1 THEN state WHEN starts_at IS NULL THEN %(free)s ELSE %(scheduled)s END,
    due_at = CASE
        WHEN waits > 1 THEN due_at ELSE GREATEST(UTC_TIMESTAMP(6), COALESCE(starts_at, UTC_TIMESTAMP(6)))
    END,
    waits = waits - 1
WHERE `key` = %(key)s AND run = %(run)s AND state = %(waiting)s

-- A signal that is no try keeps the tries and the last error as they are. MySQL assigns from left to right.
UPDATE landfast_effect
SET tries_count = CASE WHEN %(keeps)s THEN tries_count ELSE %(count)s END,
    tries_spent = CASE WHEN %(keeps)s THEN tries_spent ELSE %(spent)s END,
    tries_unknown = CASE WHEN %(keeps)s THEN tries_unknown ELSE %(unknown)s END,
    error = CASE WHEN %(keeps)s THEN error ELSE %(error)s END,
    message = CASE WHEN %(keeps)s THEN message ELSE %(message)s END,
    trace = CASE WHEN %(keeps)s THEN trace ELSE %(trace)s END,
    result = %(result)s,
    done_at = CASE WHEN %(over)s THEN UTC_TIMESTAMP(6) END,
    due_at = UTC_TIMESTAMP(6) + INTERVAL %(due)s MICROSECOND,
    state = %(state)s,
    token = NULL
WHERE `key` = %(key)s AND run = %(run)s AND token = %(token)s AND state = %(held)s

-- One that stands for an event that has come, unless it is over: `done_at` says so.
UPDATE landfast_effect
SET state = %(done)s, token = NULL, due_at = UTC_TIMESTAMP(6), done_at = UTC_TIMESTAMP(6), error = '', message = '',
    trace = '', result = %(result)s
WHERE `key` = %(key)s AND run = %(run)s AND done_at IS NULL AND state <> %(waiting)s

-- A release is no try: it leaves the tries and the last error as they are.
UPDATE landfast_effect
SET state = :state,
    token = NULL,
    due_at = :due,
    done_at = :done,
    tries_count = CASE :state WHEN 'ready' THEN tries_count ELSE :count END,
    tries_spent = CASE :state WHEN 'ready' THEN tries_spent ELSE :spent END,
    tries_unknown = CASE :state WHEN 'ready' THEN tries_unknown ELSE :unknown END,
    error = CASE :state WHEN 'ready' THEN error ELSE :error END,
    message = CASE :state WHEN 'ready' THEN message ELSE :message END,
    trace = CASE :state WHEN 'ready' THEN trace ELSE :trace END
WHERE key = :key AND run = :run AND token = :token AND state = 'claimed'

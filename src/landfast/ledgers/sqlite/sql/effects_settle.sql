-- A signal that is no try keeps the tries and the last error as they are.
UPDATE landfast_effect
SET state = :state,
    token = NULL,
    due_at = :due,
    done_at = :done,
    tries_count = CASE WHEN :keeps THEN tries_count ELSE :count END,
    tries_spent = CASE WHEN :keeps THEN tries_spent ELSE :spent END,
    tries_unknown = CASE WHEN :keeps THEN tries_unknown ELSE :unknown END,
    error = CASE WHEN :keeps THEN error ELSE :error END,
    message = CASE WHEN :keeps THEN message ELSE :message END,
    trace = CASE WHEN :keeps THEN trace ELSE :trace END,
    result = :result
WHERE key = :key AND run = :run AND token = :token AND state = :held

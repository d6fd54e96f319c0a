-- A release is no try: it leaves the tries and the last error as they are.
UPDATE landfast_effect AS effect
SET state = given.state,
    token = NULL,
    due_at = landfast_clock() + make_interval(secs => given.due_in),
    done_at = CASE WHEN given.state IN ('done', 'dead') THEN landfast_clock() END,
    tries_count = CASE given.state WHEN 'ready' THEN effect.tries_count ELSE given.tries_count END,
    tries_spent = CASE given.state WHEN 'ready' THEN effect.tries_spent ELSE given.tries_spent END,
    tries_unknown = CASE given.state WHEN 'ready' THEN effect.tries_unknown ELSE given.tries_unknown END,
    error = CASE given.state WHEN 'ready' THEN effect.error ELSE given.error END,
    message = CASE given.state WHEN 'ready' THEN effect.message ELSE given.message END,
    trace = CASE given.state WHEN 'ready' THEN effect.trace ELSE given.trace END
FROM unnest(
    $1::text[], $2::integer[], $3::bytea[], $4::text[], $5::double precision[],
    $6::integer[], $7::double precision[], $8::double precision[], $9::text[], $10::text[], $11::text[]
) AS given (key, run, token, state, due_in, tries_count, tries_spent, tries_unknown, error, message, trace)
WHERE effect.key = given.key AND effect.run = given.run AND effect.token = given.token AND effect.state = 'claimed'
RETURNING effect.key, effect.run, given.token

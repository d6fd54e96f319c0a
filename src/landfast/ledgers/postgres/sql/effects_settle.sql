-- A signal that is no try keeps the tries and the last error as they are. $15 is `claimed`.
UPDATE landfast_ledger.effect AS effect
SET state = given.state,
    token = NULL,
    due_at = landfast_ledger.clock() + make_interval(secs => given.due_in),
    done_at = CASE WHEN given.is_over THEN landfast_ledger.clock() END,
    tries_count = CASE WHEN given.keeps THEN effect.tries_count ELSE given.tries_count END,
    tries_spent = CASE WHEN given.keeps THEN effect.tries_spent ELSE given.tries_spent END,
    tries_unknown = CASE WHEN given.keeps THEN effect.tries_unknown ELSE given.tries_unknown END,
    error = CASE WHEN given.keeps THEN effect.error ELSE given.error END,
    message = CASE WHEN given.keeps THEN effect.message ELSE given.message END,
    trace = CASE WHEN given.keeps THEN effect.trace ELSE given.trace END,
    result = given.result
FROM unnest(
    $1::text[], $2::integer[], $3::bytea[], $4::text[], $5::boolean[], $6::boolean[], $7::double precision[],
    $8::integer[], $9::double precision[], $10::double precision[], $11::text[], $12::text[], $13::text[], $14::bytea[]
) AS given (
    key, run, token, state, is_over, keeps, due_in, tries_count, tries_spent, tries_unknown, error, message, trace, result
)
WHERE effect.key = given.key AND effect.run = given.run AND effect.token = given.token AND effect.state = $15
RETURNING effect.key, effect.run, given.token

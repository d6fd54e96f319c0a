-- $4 tells whose turn it is: the suspects', which run alone, or everybody else's. $5 is `claimed`: what is claimed and due
-- has lost its worker, and is a suspect. Only a suspect's crash is its own.
UPDATE landfast_ledger.effect
SET state = $5::text,
    token = $1,
    due_at = landfast_ledger.clock() + make_interval(secs => $2),
    suspect = suspect OR state = $5,
    crashes = crashes + (suspect AND state = $5)::integer
WHERE done_at IS NULL AND due_at <= landfast_ledger.clock() AND (suspect OR state = $5) = $4 AND seq = ANY(ARRAY(
    SELECT seq FROM landfast_ledger.effect
    WHERE done_at IS NULL AND due_at <= landfast_ledger.clock() AND (suspect OR state = $5) = $4
    ORDER BY due_at, seq
    LIMIT $3
    FOR UPDATE SKIP LOCKED
))
RETURNING seq, key, run, digest, handler, name, arguments, context, tries_count, tries_spent, tries_unknown, suspect,
    crashes, step

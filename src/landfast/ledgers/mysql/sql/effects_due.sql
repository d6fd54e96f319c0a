-- %(suspects)s tells whose turn it is: theirs, who run alone, or everybody else's. %(held)s is `claimed`: what is claimed
-- and due has lost its worker, and is a suspect. Only a suspect's crash is its own.
SELECT seq, `key`, run, digest, handler, name, arguments, context, tries_count, tries_spent, tries_unknown,
    suspect OR state = %(held)s AS suspect, crashes + (suspect AND state = %(held)s) AS crashes,
    step
FROM landfast_effect
WHERE done_at IS NULL AND due_at <= UTC_TIMESTAMP(6) AND (suspect OR state = %(held)s) = %(suspects)s
ORDER BY due_at, seq
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED

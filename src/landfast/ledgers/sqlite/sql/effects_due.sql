-- :suspects tells whose turn it is: theirs, who run alone, or everybody else's. :held is `claimed`: what is claimed and
-- due has lost its worker, and is a suspect. Only a suspect's crash is its own.
SELECT seq, key, run, digest, handler, name, arguments, context, tries_count, tries_spent, tries_unknown,
       suspect OR state = :held AS suspect, crashes + (suspect AND state = :held) AS crashes,
       step
FROM landfast_effect
WHERE done_at IS NULL AND due_at <= :now AND (suspect OR state = :held) = :suspects
ORDER BY due_at, seq
LIMIT :limit

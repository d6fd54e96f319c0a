-- $3: the states that may become $2. $4: the token under which it is ours; NULL for an operator's.
UPDATE landfast.job
SET state = $2, token = NULL, leased_until = NULL, message = $5, updated_at = landfast.clock()
WHERE id = $1 AND state = ANY ($3::text[]) AND ($4::bytea IS NULL OR token = $4)
RETURNING id

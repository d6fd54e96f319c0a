-- $2: running. $3: the states that may become it; one that runs already is taken over where nobody carries it out.
UPDATE landfast.job
SET
    state = $2, is_background = $4, token = NULL, leased_until = NULL, message = '', canaries = '{}',
    updated_at = landfast.clock()
WHERE
    id = $1
    AND (
        state = ANY ($3::text[])
        OR (state = $2 AND (leased_until IS NULL OR leased_until <= landfast.clock()))
    )
RETURNING id

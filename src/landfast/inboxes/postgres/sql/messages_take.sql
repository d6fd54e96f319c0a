WITH due AS (
    SELECT seq FROM landfast.message AS m
    WHERE
        sink = ANY ($1::text[]) AND given_up_at IS NULL AND due_at <= landfast.clock()
        AND (incident = '' OR NOT EXISTS (
            SELECT 1 FROM landfast.message AS earlier
            WHERE
                earlier.sink = m.sink AND earlier.incident = m.incident AND earlier.seq < m.seq
                AND earlier.given_up_at IS NULL
        ))
    ORDER BY seq LIMIT $2
    FOR UPDATE SKIP LOCKED
),
taken AS (
    UPDATE landfast.message AS m
    SET
        due_at = landfast.clock() + make_interval(secs => $3),
        tries = m.tries + 1
    FROM due WHERE due.seq = m.seq
    RETURNING m.seq, m.id, m.sink, m.content, m.incident, m.kind, m.made_at, m.tries, m.error, m.given_up_at
)
SELECT id, sink, content, incident, kind, made_at, tries, error, given_up_at FROM taken ORDER BY seq

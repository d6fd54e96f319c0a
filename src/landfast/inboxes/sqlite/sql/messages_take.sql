UPDATE message SET due_at = :until, tries = tries + 1
WHERE seq IN (
    SELECT m.seq FROM message AS m
    WHERE m.sink = :sink AND m.given_up_at IS NULL AND m.due_at <= :now
      AND (m.incident = '' OR NOT EXISTS (
          SELECT 1 FROM message AS earlier
          WHERE earlier.sink = m.sink AND earlier.incident = m.incident AND earlier.seq < m.seq
            AND earlier.given_up_at IS NULL))
    ORDER BY m.seq LIMIT :limit)
RETURNING id, sink, content, incident, kind, made_at, tries, error, given_up_at, seq

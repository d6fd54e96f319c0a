-- One that was interrupted goes on, if it went back as far.
INSERT INTO reconciliation AS r (source, token, held_until, begun_at, since)
VALUES (:source, :token, :held_until, :now, :since)
ON CONFLICT DO UPDATE SET
    token = excluded.token,
    held_until = excluded.held_until,
    begun_at = CASE WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= excluded.since
        THEN r.begun_at ELSE excluded.begun_at END,
    since = CASE WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= excluded.since
        THEN r.since ELSE excluded.since END,
    place = CASE WHEN r.ended_at IS NULL AND r.since <= excluded.since THEN r.place END,
    listed = CASE WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= excluded.since
        THEN r.listed ELSE 0 END,
    missing = CASE WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= excluded.since
        THEN r.missing ELSE 0 END,
    taken = CASE WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= excluded.since
        THEN r.taken ELSE 0 END,
    ended_at = NULL,
    error = ''
WHERE r.token IS NULL OR r.held_until <= :now
RETURNING source, begun_at, since, place, listed, missing, taken, ended_at, held_until, error, 1, compared_until

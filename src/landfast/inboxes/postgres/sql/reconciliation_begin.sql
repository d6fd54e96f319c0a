-- One that was interrupted goes on, if it went back as far.
INSERT INTO landfast.reconciliation AS r (source, token, held_until, begun_at, since)
VALUES ($1, $2, landfast.clock() + make_interval(secs => $3), landfast.clock(), $4)
ON CONFLICT (source) DO UPDATE
SET
    token = EXCLUDED.token,
    held_until = EXCLUDED.held_until,
    begun_at = CASE
        WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= EXCLUDED.since THEN r.begun_at
        ELSE EXCLUDED.begun_at
    END,
    since = CASE
        WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= EXCLUDED.since THEN r.since
        ELSE EXCLUDED.since
    END,
    place = CASE WHEN r.ended_at IS NULL AND r.since <= EXCLUDED.since THEN r.place END,
    listed = CASE
        WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= EXCLUDED.since THEN r.listed ELSE 0
    END,
    missing = CASE
        WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= EXCLUDED.since THEN r.missing ELSE 0
    END,
    taken = CASE
        WHEN r.ended_at IS NULL AND r.place IS NOT NULL AND r.since <= EXCLUDED.since THEN r.taken ELSE 0
    END,
    ended_at = NULL,
    error = ''
WHERE r.token IS NULL OR r.held_until <= landfast.clock()
RETURNING
    source, begun_at, since, place, listed, missing, taken, ended_at, held_until, error, true AS is_running,
    compared_until

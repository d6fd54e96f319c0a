INSERT INTO landfast.silence (name, subject, until, who, why, at)
VALUES ($1, $2, landfast.clock() + make_interval(secs => $3), $4, $5, landfast.clock())
ON CONFLICT (name, subject) DO UPDATE
SET
    until = excluded.until,
    who = excluded.who,
    why = excluded.why,
    at = excluded.at
RETURNING until

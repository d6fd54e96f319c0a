-- Thrown again, it is in force for as long as the last one says, and since the first one: a breaker whose probe fails was
-- not closed in between. One that ran out five minutes ago has begun anew.
INSERT INTO landfast.switch AS s (kind, name, why, who, at, until, at_once)
VALUES ($1, $2, $3, $4, landfast.clock(), landfast.clock() + make_interval(secs => $5), $6)
ON CONFLICT (kind, name) DO UPDATE
SET
    why = EXCLUDED.why,
    who = EXCLUDED.who,
    at = CASE WHEN s.until < EXCLUDED.at - interval '5 minutes' THEN EXCLUDED.at ELSE s.at END,
    until = EXCLUDED.until,
    at_once = EXCLUDED.at_once

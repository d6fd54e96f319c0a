-- Thrown again, it is in force for as long as the last one says.
INSERT INTO landfast.switch (kind, name, why, who, at, until, at_once)
VALUES ($1, $2, $3, $4, landfast.clock(), landfast.clock() + make_interval(secs => $5), $6)
ON CONFLICT (kind, name) DO UPDATE
SET
    why = EXCLUDED.why,
    who = EXCLUDED.who,
    at = EXCLUDED.at,
    until = EXCLUDED.until,
    at_once = EXCLUDED.at_once

-- Thrown again, it is in force for as long as the last one says, and since the first one: a breaker whose probe fails was
-- not closed in between. One that ran out five minutes ago has begun anew.
INSERT INTO switch (kind, name, why, who, at, until, at_once) VALUES (:kind, :name, :why, :who, :now, :until, :at_once)
ON CONFLICT DO UPDATE SET why = excluded.why, who = excluded.who, at = iif(until < excluded.at - 300000000, excluded.at, at), until = excluded.until,
    at_once = excluded.at_once

-- Thrown again, it is in force for as long as the last one says.
INSERT INTO switch (kind, name, why, who, at, until, at_once) VALUES (:kind, :name, :why, :who, :now, :until, :at_once)
ON CONFLICT DO UPDATE SET why = excluded.why, who = excluded.who, at = excluded.at, until = excluded.until,
    at_once = excluded.at_once

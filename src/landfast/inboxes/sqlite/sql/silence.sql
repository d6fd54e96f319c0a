INSERT INTO silence (name, subject, until, who, why, at) VALUES (:name, :subject, :until, :who, :why, :now)
ON CONFLICT DO UPDATE SET until = excluded.until, who = excluded.who, why = excluded.why, at = excluded.at
RETURNING until

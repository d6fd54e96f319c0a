-- A row comes back where this report is new.
INSERT INTO rate_report (boot, number, at) VALUES (:boot, :number, :now)
ON CONFLICT DO UPDATE SET number = excluded.number, at = excluded.at WHERE number < excluded.number
RETURNING number

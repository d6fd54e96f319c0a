-- A time has eight digits. The last argument: how many characters are kept, besides the last time.
INSERT INTO redelivery (event_id, count, at) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET count = count + excluded.count, at = substr(at, 1, ?) || excluded.at

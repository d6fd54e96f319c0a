INSERT INTO redelivery (event_id, count) VALUES (?, ?)
ON CONFLICT DO UPDATE SET count = count + excluded.count

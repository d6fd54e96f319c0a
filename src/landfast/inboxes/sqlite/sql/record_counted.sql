INSERT INTO counted (boot, slot, source, stored, deliveries) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET stored = stored + excluded.stored, deliveries = deliveries + excluded.deliveries

INSERT INTO counted (boot, slot, source, stored, deliveries, again) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET stored = stored + excluded.stored, deliveries = deliveries + excluded.deliveries,
                          again = again + excluded.again

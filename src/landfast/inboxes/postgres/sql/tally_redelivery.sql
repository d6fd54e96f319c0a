-- Sorted: two intakes that saw the same events again do not deadlock.
INSERT INTO landfast.redelivery AS r (event_id, count)
SELECT event_id, count FROM unnest($1::bytea[], $2::bigint[]) AS u (event_id, count) ORDER BY event_id
ON CONFLICT (event_id) DO UPDATE SET count = r.count + EXCLUDED.count

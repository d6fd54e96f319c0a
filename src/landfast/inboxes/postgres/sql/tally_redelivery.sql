-- Sorted: two intakes that saw the same events again do not deadlock. $3: how many times are kept, besides the last.
INSERT INTO landfast.redelivery AS r (event_id, count, at)
SELECT event_id, count, ARRAY[landfast.clock()]
FROM unnest($1::bytea[], $2::bigint[]) AS u (event_id, count) ORDER BY event_id
ON CONFLICT (event_id) DO UPDATE SET count = r.count + EXCLUDED.count, at = r.at[1:$3::integer] || EXCLUDED.at

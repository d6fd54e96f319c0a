SELECT event_id FROM landfast.identity
JOIN unnest($1::bytea[], $2::timestamptz[]) AS d (event_id, received_at) USING (event_id, received_at)

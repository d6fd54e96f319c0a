SELECT event_id, data_key FROM landfast.identity WHERE event_id = ANY ($1::bytea[]) AND data_key IS NOT NULL

UPDATE landfast.identity SET data_key = NULL WHERE event_id = ANY ($1::bytea[]) AND data_key IS NOT NULL

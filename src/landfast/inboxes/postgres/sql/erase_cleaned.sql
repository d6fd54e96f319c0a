UPDATE landfast.erasure SET is_clean = true WHERE event_id = ANY ($1::bytea[])

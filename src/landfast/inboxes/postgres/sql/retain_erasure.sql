DELETE FROM landfast.erasure WHERE event_id = ANY ($1::bytea[]) AND is_clean

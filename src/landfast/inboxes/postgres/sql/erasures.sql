SELECT event_id, erased_at, who, is_clean FROM landfast.erasure ORDER BY erased_at, event_id

SELECT event_id FROM landfast.erasure WHERE NOT is_clean

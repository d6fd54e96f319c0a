INSERT INTO landfast.meta (inbox_id) VALUES ($1) ON CONFLICT DO NOTHING

SELECT seq, event_id, run FROM landfast.history
WHERE seq > $1 AND seq <= $2 AND signal = ANY ($4::text[])
ORDER BY seq LIMIT $3

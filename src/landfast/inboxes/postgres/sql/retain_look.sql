SELECT
    began_at, ended_at, holder IS NOT NULL AND held_until > landfast.clock() AS is_running,
    (SELECT min(received_at) FROM landfast.body WHERE NOT kept) AS oldest
FROM landfast.retention

-- :repeats: it repeats what its sink has been told, or would have been told by an earlier one that it has not taken yet.
INSERT INTO message (id, sink, incident, kind, content, made_at, due_at)
SELECT :id, :sink, :incident, :kind, :content, :now, :now
WHERE NOT :repeats OR NOT EXISTS (
    SELECT 1 FROM message AS earlier
    WHERE earlier.sink = :sink AND earlier.incident = :incident AND earlier.given_up_at IS NULL)
ON CONFLICT DO NOTHING

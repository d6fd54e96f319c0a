-- $6: it repeats what its sink has been told, or would have been told by an earlier one that it has not taken yet.
INSERT INTO landfast.message (id, sink, incident, kind, content, made_at, due_at)
SELECT $1, $2, $3, $4, $5, landfast.clock(), landfast.clock()
WHERE NOT $6::boolean OR NOT EXISTS (
    SELECT 1 FROM landfast.message AS earlier
    WHERE earlier.sink = $2 AND earlier.incident = $3 AND earlier.given_up_at IS NULL
)
ON CONFLICT (id, sink) DO NOTHING

DELETE FROM landfast.switch WHERE kind = $1 AND name = $2 RETURNING kind

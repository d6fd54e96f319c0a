DELETE FROM switch WHERE kind = :kind AND name = :name RETURNING kind

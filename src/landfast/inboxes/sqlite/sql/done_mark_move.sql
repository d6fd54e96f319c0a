UPDATE mark SET seq = :seq WHERE name = :name

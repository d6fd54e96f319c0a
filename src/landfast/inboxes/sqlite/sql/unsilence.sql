DELETE FROM silence WHERE name = :name AND subject = :subject RETURNING until > :now

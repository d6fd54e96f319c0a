UPDATE meta SET epoch = CASE WHEN epoch = :old THEN :drawn ELSE epoch END RETURNING epoch

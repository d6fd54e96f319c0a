-- Before it moves, so that no row is written with it.
UPDATE work SET lane = NULL, tries = '{}' WHERE event_id = :event_id AND token IS NULL

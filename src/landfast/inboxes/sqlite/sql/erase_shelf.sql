UPDATE shelf SET lane = NULL, tries = '{}' WHERE body_seq = :seq AND event_id = :event_id

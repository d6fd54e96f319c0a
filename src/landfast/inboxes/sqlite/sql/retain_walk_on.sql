UPDATE retention SET phase = :phase, after_at = :after_at, after_id = :after_id WHERE holder = :holder

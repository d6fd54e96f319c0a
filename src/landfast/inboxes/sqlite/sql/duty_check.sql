SELECT 1 FROM duty WHERE task = :task AND holder = :holder AND until > :now

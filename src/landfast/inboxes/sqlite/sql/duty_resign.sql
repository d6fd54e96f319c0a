DELETE FROM duty WHERE task = :task AND holder = :holder

UPDATE history SET attempts = :attempts WHERE seq = :seq

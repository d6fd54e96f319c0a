DELETE FROM volume WHERE quarter = :quarter OR quarter < :oldest

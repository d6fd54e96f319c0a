SELECT coalesce(sum(n), 0) FROM unhandled_count

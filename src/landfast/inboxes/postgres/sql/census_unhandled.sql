SELECT coalesce(sum(n), 0)::bigint FROM landfast.unhandled_count

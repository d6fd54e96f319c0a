SELECT source, type, n FROM unhandled_count ORDER BY source, type

SELECT number FROM landfast.migration ORDER BY number

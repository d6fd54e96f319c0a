DELETE FROM landfast_guard

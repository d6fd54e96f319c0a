-- Nobody else's guard row is ever visible: none is ever committed.
SELECT count(*) FROM landfast_guard

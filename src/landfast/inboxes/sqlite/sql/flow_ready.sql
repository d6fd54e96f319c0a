-- Ready events of one flow, oldest first.
SELECT seq FROM work INDEXED BY work_by_type
WHERE source = :source AND type = :type AND is_replay = :is_replay AND seq >= :first AND token IS NULL AND suspect = 0
ORDER BY seq
LIMIT :limit

-- One row for many. Rows are never updated, and what somebody else folds meanwhile is left to him: the sum is the same
-- in every snapshot.
WITH folded AS (
    DELETE FROM landfast.unhandled_count
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM landfast.unhandled_count FOR UPDATE SKIP LOCKED))
    RETURNING source, type, n
)
INSERT INTO landfast.unhandled_count (source, type, n)
SELECT source, type, sum(n) FROM folded GROUP BY source, type HAVING sum(n) <> 0

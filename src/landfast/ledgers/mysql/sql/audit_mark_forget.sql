-- Marks beyond it are of a life that a restore has undone; of those before it, %(kept)s are enough. MySQL reads from the
-- table that it deletes from only through a table of its own making.
DELETE FROM landfast_audit_mark
WHERE inbox = %(inbox)s
  AND (seq > %(seq)s OR seq <= (SELECT seq FROM (
          SELECT seq FROM landfast_audit_mark WHERE inbox = %(inbox)s AND seq <= %(seq)s
          ORDER BY seq DESC LIMIT 1 OFFSET %(kept)s
      ) AS oldest))

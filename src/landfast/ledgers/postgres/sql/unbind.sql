WITH forgotten AS (
    DELETE FROM landfast_ledger.kept WHERE inbox = $1
)
DELETE FROM landfast_ledger.inbox WHERE inbox = $1 RETURNING inbox

DELETE FROM landfast_ledger_inbox WHERE inbox = %(inbox)s

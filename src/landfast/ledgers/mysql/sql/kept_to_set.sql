UPDATE landfast_ledger_inbox SET kept_to = %(moment)s WHERE inbox = %(inbox)s

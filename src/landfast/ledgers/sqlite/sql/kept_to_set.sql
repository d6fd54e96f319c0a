UPDATE landfast_ledger_inbox SET kept_to = :moment WHERE inbox = :inbox

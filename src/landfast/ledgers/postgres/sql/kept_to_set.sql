UPDATE landfast_ledger.inbox SET kept_to = $2 WHERE inbox = $1

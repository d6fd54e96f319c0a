SELECT inbox, kept_to FROM landfast_ledger_inbox

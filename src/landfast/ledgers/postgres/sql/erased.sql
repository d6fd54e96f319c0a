SELECT event_id, digest FROM landfast_ledger.erasure WHERE inbox = $1

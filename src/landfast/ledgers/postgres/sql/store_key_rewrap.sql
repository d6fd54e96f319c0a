UPDATE landfast_ledger.store_key SET wrapped = $2, master = $3 WHERE id = $1

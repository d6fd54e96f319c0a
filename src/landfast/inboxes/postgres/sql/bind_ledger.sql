-- Of two that bind at once, the second waits here and then keeps what the first wrote.
UPDATE landfast.meta SET ledger = coalesce(ledger, $1) RETURNING ledger

-- Of two that renew the same epoch, the second waits here and then keeps what the first drew.
UPDATE landfast.meta SET epoch = CASE WHEN epoch = $1 THEN $2 ELSE epoch END RETURNING epoch

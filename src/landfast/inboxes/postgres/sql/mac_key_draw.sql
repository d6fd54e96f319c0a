UPDATE landfast.meta SET mac_key = $1 WHERE mac_key IS NULL

UPDATE landfast.meta SET fingerprint = $1

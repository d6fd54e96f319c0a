SELECT epoch FROM meta

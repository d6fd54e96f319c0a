SELECT epoch FROM landfast.meta

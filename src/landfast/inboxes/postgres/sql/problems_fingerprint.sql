SELECT fingerprint FROM landfast.meta

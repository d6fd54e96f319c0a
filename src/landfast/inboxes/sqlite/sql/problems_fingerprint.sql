SELECT fingerprint FROM meta

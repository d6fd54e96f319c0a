SELECT count(*) FROM erasure WHERE is_clean = 0

UPDATE erasure SET is_clean = 1 WHERE is_clean = 0

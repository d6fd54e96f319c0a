-- The place of the next arrival. Safe without a sequence: there is one writer at a time.
SELECT coalesce(max(seq), 0) + 1 FROM body

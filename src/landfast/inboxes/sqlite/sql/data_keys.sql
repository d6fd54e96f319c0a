-- An erased one is zeros, and none.
SELECT k.wrapped
FROM identity i
JOIN data_key k ON k.seq = i.seq
WHERE i.event_id = ? AND k.wrapped <> zeroblob(length(k.wrapped))

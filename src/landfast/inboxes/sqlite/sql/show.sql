SELECT i.seq, coalesce(b.headers, x'5b5d'), coalesce(b.body, x''), coalesce(w.tries, s.tries), w.token, w.claimed_at,
       coalesce(r.at, '')
FROM identity i
LEFT JOIN body b ON b.seq = i.seq
LEFT JOIN work w ON w.event_id = i.event_id
LEFT JOIN shelf s ON s.body_seq = i.seq AND s.event_id = i.event_id
LEFT JOIN redelivery r ON r.event_id = i.event_id
WHERE i.event_id = ?

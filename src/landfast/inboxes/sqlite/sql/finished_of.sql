-- As `finished`, of one event.
SELECT h.seq, h.event_id, b.source, b.key, h.run,
       -- Forced: by the replay that began this run. A recovery begins none.
       EXISTS (SELECT 1 FROM history f WHERE f.received_at = h.received_at AND f.event_id = h.event_id
                                         AND f.run = h.run AND f.signal = :replay AND f.reason LIKE 'forced%'),
       h.handlers, CASE WHEN h.handlers IS NULL THEN h.attempts END
FROM history h
JOIN identity i ON i.event_id = h.event_id
JOIN body b ON b.seq = i.seq
WHERE h.received_at = :received_at AND h.event_id = :event_id AND h.state = :done
ORDER BY h.seq DESC
LIMIT 1

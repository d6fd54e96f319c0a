SELECT h.seq, h.event_id, b.source, b.key, h.run,
       -- Forced: by the line that made it ready again, if any did.
       (SELECT r.signal = 'replay' AND r.reason = 'forced' FROM history r
        WHERE r.received_at = h.received_at AND r.event_id = h.event_id AND r.seq < h.seq
          AND r.signal IN ('replay', 'recover')
        ORDER BY r.seq DESC LIMIT 1),
       h.handlers, CASE WHEN h.handlers IS NULL THEN h.attempts END
FROM history h
JOIN identity i ON i.event_id = h.event_id
JOIN body b ON b.seq = i.seq
WHERE h.seq > :after AND h.seq <= :upto AND h.state = 'done'
  AND h.seq = (SELECT max(n.seq) FROM history n WHERE n.received_at = h.received_at AND n.event_id = h.event_id)
ORDER BY h.seq

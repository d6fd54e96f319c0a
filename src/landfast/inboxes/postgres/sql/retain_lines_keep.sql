UPDATE landfast.history AS h SET kept = true
FROM unnest($1::timestamptz[], $2::bytea[]) AS d (received_at, event_id)
WHERE
    NOT h.kept AND h.received_at = d.received_at AND h.event_id = d.event_id
    AND h.received_at >= $3 AND h.received_at <= $4

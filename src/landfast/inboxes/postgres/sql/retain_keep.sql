UPDATE landfast.body AS b SET kept = true
FROM unnest($1::timestamptz[], $2::bytea[]) AS d (received_at, event_id)
WHERE
    NOT b.kept AND b.received_at = d.received_at AND b.event_id = d.event_id
    AND b.received_at >= $3 AND b.received_at <= $4

-- Between the first and the last of them, so that other weeks are left out when it is planned.
DELETE FROM landfast.history AS h USING unnest($1::timestamptz[], $2::bytea[]) AS d (received_at, event_id)
WHERE
    h.received_at = d.received_at AND h.event_id = d.event_id
    AND h.received_at >= $3 AND h.received_at <= $4

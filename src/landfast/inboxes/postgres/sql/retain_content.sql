-- It is moved to the kept ones, whose space is used again; in its week an empty row would leave a hole.
UPDATE landfast.body AS b
SET kept = true, expired_at = landfast.clock(), headers = $5, body = $6
FROM unnest($1::timestamptz[], $2::bytea[]) AS d (received_at, event_id)
WHERE
    b.received_at = d.received_at AND b.event_id = d.event_id AND b.expired_at IS NULL
    AND b.received_at >= $3 AND b.received_at <= $4

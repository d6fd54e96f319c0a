-- Whether the body of something that waits or works is still in this week.
SELECT EXISTS (
    SELECT FROM landfast.work AS w
    WHERE
        w.received_at >= $1 AND w.received_at < $2
        AND EXISTS (
            SELECT FROM landfast.body AS b
            WHERE NOT b.kept AND b.received_at = w.received_at AND b.event_id = w.event_id
        )
) OR EXISTS (
    SELECT FROM landfast.shelf AS f
    WHERE
        f.state = ANY ($3::text[]) AND f.received_at >= $1 AND f.received_at < $2
        AND EXISTS (
            SELECT FROM landfast.body AS b
            WHERE NOT b.kept AND b.received_at = f.received_at AND b.event_id = f.event_id
        )
)

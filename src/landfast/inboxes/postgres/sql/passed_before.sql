-- Of the places $1, those of events that have a line of an earlier run with one of the signals $2. A statement of its own,
-- because it looks into every week of the history, and what is no replay needs no look.
SELECT f.ctid AS place FROM landfast.shelf AS f
WHERE
    f.ctid = ANY ($1::tid[])
    AND EXISTS (
        SELECT FROM landfast.history AS h
        WHERE
            h.received_at = f.received_at AND h.event_id = f.event_id AND h.run < f.run
            AND h.signal = ANY ($2::text[])
    )

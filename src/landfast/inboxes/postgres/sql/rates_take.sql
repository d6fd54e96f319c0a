-- Takes old rows out, oldest first. Another process that does the same takes others.
DELETE FROM landfast.rate AS r
USING (
    SELECT ctid FROM landfast.rate
    WHERE seconds = $1 AND minute < landfast.clock() - make_interval(secs => $2)
    ORDER BY minute LIMIT $3
    FOR UPDATE SKIP LOCKED
) AS old
WHERE r.ctid = old.ctid
RETURNING r.minute, r.meter, r.source, r.type, r.handler, r.detail, r.count, r.histogram, r.seconds

WITH discarded AS (
    UPDATE landfast.shelf AS f
    SET state = 'dead', reason = 'discarded', message = 'was held: ' || held.reason
    FROM (
        SELECT event_id, reason FROM landfast.shelf WHERE event_id = ANY ($1::bytea[]) AND state = 'held' FOR UPDATE
    ) AS held
    WHERE f.event_id = held.event_id AND f.state = 'held'
    RETURNING f.received_at, f.event_id, f.run, f.forced, held.reason
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, who)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'discard', 'dead', reason, $2 FROM discarded
)
SELECT count(*) FROM discarded

-- As before, and a look first: in most lanes that somebody has just changed nothing is queued. To delete and insert no
-- rows takes the triggers of the shelf nearly as long as one. Who queues an event of these lanes waits for their locks,
-- so what this look does not find comes later, and its own settlement looks again.
CREATE OR REPLACE FUNCTION landfast.advance(sources text[], lanes text[], queued text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    promoted bigint;
BEGIN
    PERFORM landfast.lock_lanes(sources, lanes);
    IF NOT EXISTS (
        SELECT FROM unnest(sources, lanes) AS l (source, lane)
        CROSS JOIN LATERAL (
            SELECT f.place FROM landfast.shelf AS f
            WHERE f.source = l.source AND f.lane = l.lane AND f.holds
            ORDER BY f.place LIMIT 1 -- or the planner takes a lane that has none for one that is found at once
        ) AS waiting
    ) THEN
        RETURN NULL;
    END IF;
    WITH front AS (
        SELECT DISTINCT first.event_id
        FROM unnest(sources, lanes) AS l (source, lane)
        CROSS JOIN LATERAL (
            SELECT f.event_id, f.place, f.state FROM landfast.shelf AS f
            WHERE f.source = l.source AND f.lane = l.lane AND f.holds
            ORDER BY f.place LIMIT 1
        ) AS first
        WHERE first.state = queued AND NOT EXISTS (
            SELECT FROM landfast.work AS w
            WHERE w.source = l.source AND w.lane = l.lane AND w.holds AND w.place < first.place
        )
    ),
    gone AS (
        DELETE FROM landfast.shelf AS f USING front
        WHERE f.event_id = front.event_id AND f.state = queued
        RETURNING f.*
    ),
    ready AS (
        INSERT INTO landfast.work (
            seq, event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries, place, holds
        )
        OVERRIDING SYSTEM VALUE
        SELECT
            coalesce(seq, nextval(pg_get_serial_sequence('landfast.work', 'seq'))), event_id, received_at, source, lane,
            type, run, forced, suspect, crashes, tries, place, holds
        FROM gone
        RETURNING seq
    )
    SELECT min(seq) INTO promoted FROM ready;
    RETURN promoted;
END $$;

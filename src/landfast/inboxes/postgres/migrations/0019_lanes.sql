-- Order per entity (ADR 39). The place of an event in its lane, fixed when it is recorded: see domain/lane.py. `holds`:
-- what comes after it in its lane waits for it. `seq` on the shelf: what waits in its lane keeps its age.
ALTER TABLE landfast.body ADD COLUMN place bytea;
ALTER TABLE landfast.work
    ADD COLUMN place bytea,
    ADD COLUMN holds boolean NOT NULL DEFAULT false;
ALTER TABLE landfast.shelf
    ADD COLUMN seq bigint,
    ADD COLUMN place bytea,
    ADD COLUMN holds boolean NOT NULL DEFAULT false;

-- The states are those that were there, and one more.
DO $$
DECLARE
    states text := (
        SELECT pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = 'landfast.shelf'::regclass AND conname = 'shelf_state_check'
    );
BEGIN
    EXECUTE 'ALTER TABLE landfast.shelf DROP CONSTRAINT shelf_state_check, ADD CONSTRAINT shelf_state_check '
        || replace(states, '''paused''::text', '''paused''::text, ''queued''::text');
END $$;

-- The lease columns are still in no index.
CREATE INDEX work_lane ON landfast.work (source, lane, place) WHERE holds;
CREATE INDEX shelf_lane ON landfast.shelf (source, lane, place) WHERE holds;

-- Sources whose events hold their lanes, because a worker has, or had, an ordered handler for them.
CREATE TABLE landfast.ordered_source (
    source text PRIMARY KEY
);

-- Of an event that was recorded before it had a place: as domain/lane.py has it.
CREATE FUNCTION landfast.place_of(occurred_at timestamptz, received_at timestamptz) RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT
        int8send((extract(epoch FROM least(greatest(coalesce(occurred_at, received_at), 'epoch'), received_at + interval '5 minutes')) * 1000000)::bigint)
        || int8send((extract(epoch FROM received_at) * 1000000)::bigint * 4096)
$$;

-- Let the lanes go on, each of which somebody has just changed: where nothing earlier holds its first queued event, that
-- is ready again, and as old as it was. Called last in its transaction. One who finishes an event and one who queues the
-- next do not see each other's rows: so they take turns, by the lane's lock, and the second looks again. Each statement
-- of this function has a snapshot of its own, which parts of one statement have not.
CREATE FUNCTION landfast.advance(sources text[], lanes text[], queued text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    promoted bigint;
BEGIN
    PERFORM landfast.lock_lanes(sources, lanes);
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

-- By number, so that two who lock several lanes take them in one order. Two lanes of one number only wait in vain.
CREATE FUNCTION landfast.lock_lanes(sources text[], lanes text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(443041879, l.number)
    FROM (
        SELECT DISTINCT hashtext(source || chr(31) || lane) AS number
        FROM unnest(sources, lanes) AS named (source, lane) ORDER BY 1
    ) AS l;
END $$;

-- Bodies and lines lie in the week in which their event arrived, and a week that is old enough is dropped as a whole. What
-- must outlive its week is kept apart: `kept` says so, and to set it moves the row. It is found there as before, by when
-- its event arrived and its id, so nobody has to know that it was moved. (ADR 35)
DROP VIEW landfast.event;

ALTER TABLE landfast.body RENAME TO body_weekly;
-- `expired_at`: when headers and body went, where the rest of the event is still known.
ALTER TABLE landfast.body_weekly
    ADD COLUMN kept boolean NOT NULL DEFAULT false,
    ADD COLUMN expired_at timestamptz;
CREATE TABLE landfast.body (LIKE landfast.body_weekly INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY LIST (kept);
CREATE TABLE landfast.body_kept (LIKE landfast.body_weekly INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES);
ALTER TABLE landfast.body ATTACH PARTITION landfast.body_kept FOR VALUES IN (true);

ALTER TABLE landfast.history RENAME TO history_weekly;
ALTER TABLE landfast.history_weekly ADD COLUMN kept boolean NOT NULL DEFAULT false;
CREATE TABLE landfast.history (LIKE landfast.history_weekly INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY LIST (kept);
CREATE TABLE landfast.history_kept (
    LIKE landfast.history_weekly INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES
);
ALTER TABLE landfast.history ATTACH PARTITION landfast.history_kept FOR VALUES IN (true);

-- No default partition: with one, no week could be taken off without locking intake out. What has no week is kept.
ALTER TABLE landfast.body_weekly DETACH PARTITION landfast.body_default;
UPDATE landfast.body_default SET kept = true;
INSERT INTO landfast.body_kept SELECT * FROM landfast.body_default;
DROP TABLE landfast.body_default;
ALTER TABLE landfast.history_weekly DETACH PARTITION landfast.history_default;
UPDATE landfast.history_default SET kept = true;
INSERT INTO landfast.history_kept SELECT * FROM landfast.history_default;
DROP TABLE landfast.history_default;

ALTER TABLE landfast.body ATTACH PARTITION landfast.body_weekly FOR VALUES IN (false);
ALTER TABLE landfast.history ATTACH PARTITION landfast.history_weekly FOR VALUES IN (false);

-- From which Monday on there are weeks, and until which one: what arrived at another time goes to the kept ones. It is
-- read by every statement that writes a body or a line, and changes once a week.
CREATE TABLE landfast.weeks (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    body_from timestamptz NOT NULL,
    body_until timestamptz NOT NULL,
    history_from timestamptz NOT NULL,
    history_until timestamptz NOT NULL
);

-- Who makes a pass, and until when nobody else may: a lease and no lock of a session, which a pooler would give to others.
CREATE TABLE landfast.retention (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    holder bytea,
    held_until timestamptz NOT NULL DEFAULT '-infinity',
    began_at timestamptz,
    ended_at timestamptz
);
INSERT INTO landfast.retention DEFAULT VALUES;

-- How far the events of a part have been looked through: a week of bodies or lines, those that are kept, the proofs.
CREATE TABLE landfast.retention_walk (
    part text PRIMARY KEY,
    began_at timestamptz NOT NULL,
    ended_at timestamptz,
    after_at timestamptz NOT NULL DEFAULT '0001-01-01 00:00+00',
    after_id bytea NOT NULL DEFAULT '',
    after_seq bigint NOT NULL DEFAULT 0
);

-- Identities leave a few hundred at a time: their space is needed again before a fifth of all of them has gone.
ALTER TABLE landfast.identity SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);

-- The partitions up to `ahead` weeks from now; how many were made. A partition is made apart and then attached: to create
-- it in its place would lock out intake, for as long as it waits behind whoever reads, and a backup does so for hours.
CREATE OR REPLACE FUNCTION landfast.prepare(weeks integer) RETURNS integer LANGUAGE plpgsql
SET timezone = 'UTC' SET lock_timeout = '50ms' AS $$
DECLARE
    horizon timestamptz := date_trunc('week', landfast.clock()) + (weeks + 1) * interval '7 days';
    span record;
    monday timestamptz;
    parent text;
    child text;
    made integer := 0;
BEGIN
    IF (SELECT least(body_until, history_until) >= horizon FROM landfast.weeks) THEN
        RETURN 0;
    END IF;
    SELECT * INTO span FROM landfast.weeks FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0; -- another process is at it
    END IF;
    FOREACH parent IN ARRAY ARRAY['body', 'history'] LOOP
        monday := CASE parent WHEN 'body' THEN span.body_until ELSE span.history_until END;
        WHILE monday < horizon LOOP
            child := parent || to_char(monday, '_IYYY"w"IW');
            EXECUTE format('CREATE TABLE landfast.%I (LIKE landfast.%I INCLUDING ALL)', child, parent || '_weekly');
            EXECUTE format(
                'ALTER TABLE landfast.%I ATTACH PARTITION landfast.%I FOR VALUES FROM (%L) TO (%L)',
                parent || '_weekly', child, monday, monday + interval '7 days'
            );
            monday := monday + interval '7 days';
            made := made + 1;
        END LOOP;
    END LOOP;
    UPDATE landfast.weeks SET body_until = greatest(body_until, horizon), history_until = greatest(history_until, horizon);
    RETURN made;
END $$;

-- From the first week to the last that there are. One that is missing between them was in the default partition, and is
-- made now.
DO $$
DECLARE
    parent text;
    first timestamptz;
    last timestamptz;
    monday timestamptz;
    found jsonb := '{}';
BEGIN
    SET LOCAL timezone = 'UTC';
    FOREACH parent IN ARRAY ARRAY['body', 'history'] LOOP
        SELECT min(start), max(start) + interval '7 days' INTO first, last
        FROM (
            SELECT to_date(right(c.relname, 7), 'IYYY"w"IW')::timestamptz AS start
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = ('landfast.' || parent || '_weekly')::regclass
        ) AS made;
        first := coalesce(first, date_trunc('week', landfast.clock()) - interval '7 days');
        last := coalesce(last, first);
        monday := first;
        WHILE monday < last LOOP
            IF to_regclass('landfast.' || parent || to_char(monday, '_IYYY"w"IW')) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE landfast.%I PARTITION OF landfast.%I FOR VALUES FROM (%L) TO (%L)',
                    parent || to_char(monday, '_IYYY"w"IW'), parent || '_weekly', monday, monday + interval '7 days'
                );
            END IF;
            monday := monday + interval '7 days';
        END LOOP;
        found := found || jsonb_build_object(parent || '_from', first, parent || '_until', last);
    END LOOP;
    INSERT INTO landfast.weeks (body_from, body_until, history_from, history_until)
    SELECT body_from, body_until, history_from, history_until
    FROM jsonb_to_record(found) AS f (
        body_from timestamptz, body_until timestamptz, history_from timestamptz, history_until timestamptz
    );
END $$;

-- Each event with the state that it is in, for people; processing never reads it. A body without its identity is that of
-- an event that has left, in a week that is about to.
CREATE VIEW landfast.event AS
SELECT
    b.event_id, b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body,
    CASE
        WHEN w.event_id IS NULL THEN coalesce(f.state, newest.state)
        WHEN w.token IS NULL THEN 'ready'
        ELSE 'claimed'
    END AS state,
    coalesce(w.run, f.run, newest.run) AS run,
    coalesce(f.reason, newest.reason, '') AS reason,
    coalesce(f.error, '') AS error,
    coalesce(f.message, '') AS message,
    coalesce(f.handler, '') AS handler,
    f.due_at,
    coalesce(r.count, 0) AS redelivered,
    e.erased_at,
    b.expired_at
FROM landfast.body AS b
JOIN landfast.identity AS i ON i.event_id = b.event_id AND i.received_at = b.received_at
LEFT JOIN landfast.work AS w ON w.event_id = b.event_id
LEFT JOIN landfast.shelf AS f ON f.event_id = b.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = b.event_id
LEFT JOIN landfast.erasure AS e ON e.event_id = b.event_id
LEFT JOIN LATERAL (
    SELECT h.state, h.run, h.reason FROM landfast.history AS h
    WHERE h.received_at = b.received_at AND h.event_id = b.event_id AND w.event_id IS NULL AND f.event_id IS NULL
    ORDER BY h.seq DESC LIMIT 1
) AS newest ON true;

-- Claims that take turns between types look for the oldest of one (source, type). The lease columns stay in no index.
CREATE INDEX work_by_type ON landfast.work (source, type, seq);

CREATE INDEX shelf_unhandled ON landfast.shelf (source, type, received_at, event_id) WHERE state = 'unhandled';

-- How many events of each (source, type) are unhandled: the sum of n. Each statement adds a row and none updates one, so
-- that no two of them ever wait for each other; `unhandled_fold` makes one row of many.
CREATE TABLE landfast.unhandled_count (
    source text NOT NULL,
    type text NOT NULL,
    n bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000
);
INSERT INTO landfast.unhandled_count (source, type, n)
SELECT source, type, count(*) FROM landfast.shelf WHERE state = 'unhandled' GROUP BY source, type;

-- The shelf keeps it by itself: no statement that moves an event can forget it, and it commits with the move.
CREATE FUNCTION landfast.count_unhandled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO landfast.unhandled_count (source, type, n)
        SELECT source, type, count(*) FROM came WHERE state = 'unhandled' GROUP BY source, type;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO landfast.unhandled_count (source, type, n)
        SELECT source, type, -count(*) FROM went WHERE state = 'unhandled' GROUP BY source, type;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER shelf_unhandled_in AFTER INSERT ON landfast.shelf
REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION landfast.count_unhandled();
CREATE TRIGGER shelf_unhandled_out AFTER DELETE ON landfast.shelf
REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION landfast.count_unhandled();
CREATE TRIGGER shelf_unhandled_elsewhere AFTER UPDATE ON landfast.shelf
REFERENCING OLD TABLE AS went NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION landfast.count_unhandled();

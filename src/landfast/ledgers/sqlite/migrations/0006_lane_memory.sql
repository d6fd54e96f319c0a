-- How far each handler has come in a lane, and the state of the lane's entity.
CREATE TABLE landfast_lane_mark (
    lane     BLOB    NOT NULL,
    handler  TEXT    NOT NULL,
    place    BLOB    NOT NULL,
    -- What it was when it was moved last.
    before   BLOB    NOT NULL DEFAULT x'',
    moved_at INTEGER NOT NULL,
    PRIMARY KEY (lane, handler)
) WITHOUT ROWID;

CREATE TABLE landfast_lane_state (
    lane     BLOB    NOT NULL,
    machine  TEXT    NOT NULL,
    -- Empty: it was locked by somebody who has not moved it.
    state    TEXT    NOT NULL DEFAULT '',
    is_last  INTEGER NOT NULL DEFAULT 1,
    moved_at INTEGER NOT NULL,
    PRIMARY KEY (lane, machine)
) WITHOUT ROWID;

-- Events that steps of others wait for: the last that was handled, and when. `landfast_effect_wait.awaited` names one as
-- it names an effect.
CREATE TABLE landfast_arrival (
    key        TEXT    NOT NULL PRIMARY KEY,
    event      TEXT,
    handled_at INTEGER,
    moved_at   INTEGER NOT NULL
) WITHOUT ROWID;

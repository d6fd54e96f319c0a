-- Events that steps of others wait for. Who waits for one and who handles one lock its row before they commit: so the
-- second of them sees what the first has written. `landfast_effect_wait.awaited` names it as it names an effect.
CREATE TABLE IF NOT EXISTS landfast_arrival (
    `key`      VARCHAR(100) NOT NULL,
    -- The last that was handled, and when. Nobody yet: somebody waits for one.
    event      VARCHAR(100),
    handled_at DATETIME(6),
    moved_at   DATETIME(6)  NOT NULL,
    PRIMARY KEY (`key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

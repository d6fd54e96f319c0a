-- How far each handler has come in a lane, and the state of the lane's entity.
CREATE TABLE IF NOT EXISTS landfast_lane_mark (
    lane     BINARY(16)    NOT NULL,
    handler  VARCHAR(500)  NOT NULL,
    place    VARBINARY(16) NOT NULL,
    -- What it was when it was moved last.
    `before` VARBINARY(16) NOT NULL DEFAULT '',
    moved_at DATETIME(6)   NOT NULL,
    PRIMARY KEY (lane, handler)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS landfast_lane_state (
    lane     BINARY(16)   NOT NULL,
    machine  VARCHAR(100) NOT NULL,
    -- Empty: it is locked by somebody who has not moved it.
    state    VARCHAR(100) NOT NULL DEFAULT '',
    is_last  BOOLEAN      NOT NULL DEFAULT true,
    moved_at DATETIME(6)  NOT NULL,
    PRIMARY KEY (lane, machine)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Beside the user's own tables: every name begins with landfast_. MySQL commits each of these statements by itself, so
-- each can be run again after a crash. Times are UTC, with microseconds. Names are compared byte by byte.

CREATE TABLE IF NOT EXISTS landfast_receipt (
    digest     BINARY(16)   NOT NULL,
    handler    VARCHAR(500) NOT NULL,
    run        INT          NOT NULL,
    outcome    VARCHAR(10)  NOT NULL CHECK (outcome IN ('done', 'dead')),
    result     LONGBLOB,
    created_at DATETIME(6)  NOT NULL,
    PRIMARY KEY (digest, handler, run)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS landfast_effect (
    seq           BIGINT       NOT NULL AUTO_INCREMENT,
    `key`         VARCHAR(100) NOT NULL,
    run           INT          NOT NULL,
    state         VARCHAR(10)  NOT NULL DEFAULT 'ready'
        CHECK (state IN ('ready', 'claimed', 'delayed', 'done', 'dead')),
    name          VARCHAR(500) NOT NULL,
    arguments     LONGBLOB     NOT NULL,
    context       LONGBLOB     NOT NULL,
    digest        BINARY(16)   NOT NULL,
    handler       VARCHAR(500) NOT NULL,
    token         VARBINARY(16),
    -- When it may be claimed: when it was staged, when its delay is over, or when its lease expires.
    due_at        DATETIME(6)  NOT NULL,
    tries_count   INT          NOT NULL DEFAULT 0,
    tries_spent   DOUBLE       NOT NULL DEFAULT 0,
    tries_unknown DOUBLE       NOT NULL DEFAULT 0,
    suspect       BOOLEAN      NOT NULL DEFAULT false,
    crashes       INT          NOT NULL DEFAULT 0,
    error         LONGTEXT     NOT NULL,
    message       LONGTEXT     NOT NULL,
    trace         LONGTEXT     NOT NULL,
    created_at    DATETIME(6)  NOT NULL,
    done_at       DATETIME(6),
    PRIMARY KEY (seq),
    UNIQUE KEY landfast_effect_key (`key`, run),
    -- What waits is found without a look at what is over, however much of either there is.
    KEY landfast_effect_due (done_at, due_at, seq),
    KEY landfast_effect_digest (digest)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS landfast_ledger (
    id   INT         NOT NULL PRIMARY KEY CHECK (id = 1),
    name VARCHAR(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS landfast_ledger_inbox (
    inbox    BINARY(16)  NOT NULL PRIMARY KEY,
    bound_at DATETIME(6) NOT NULL,
    -- Up to when it has named all of its old events that live; NULL where it has not yet.
    kept_to  DATETIME(6)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How far the inbox's audit has come: the same marks as in the inbox. One that only one of the two knows was made before
-- the other was restored.
CREATE TABLE IF NOT EXISTS landfast_audit_mark (
    inbox BINARY(16)    NOT NULL,
    seq   BIGINT        NOT NULL,
    nonce VARBINARY(64) NOT NULL,
    PRIMARY KEY (inbox, seq)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Keys that wrap data keys, each wrapped by the master key of that name, which is in no database.
CREATE TABLE IF NOT EXISTS landfast_store_key (
    id      VARBINARY(64)  NOT NULL PRIMARY KEY,
    wrapped VARBINARY(500) NOT NULL,
    master  VARCHAR(200)   NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which events of which inbox were erased: a restored inbox is erased again by this list, and this ledger by the inbox's.
CREATE TABLE IF NOT EXISTS landfast_erasure (
    inbox     BINARY(16)  NOT NULL,
    event_id  BINARY(16)  NOT NULL,
    digest    BINARY(16)  NOT NULL,
    erased_at DATETIME(6) NOT NULL,
    who       LONGTEXT    NOT NULL,
    PRIMARY KEY (inbox, event_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Events that live in their inboxes, however old they are: their receipts do not expire.
CREATE TABLE IF NOT EXISTS landfast_kept (
    digest  BINARY(16)  NOT NULL PRIMARY KEY,
    inbox   BINARY(16)  NOT NULL,
    seen_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

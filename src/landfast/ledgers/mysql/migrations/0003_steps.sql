-- Effects that are staged after others, or for a time; what they return; and which waits for which. One ALTER, unless it
-- was made already: MySQL keeps a CHECK of a column under a name of its own, MariaDB in the column.
SET @landfast_check = (
    SELECT CONCAT('DROP CHECK `', MIN(constraint_name), '`, ') FROM information_schema.table_constraints
    WHERE table_schema = DATABASE() AND table_name = 'landfast_effect' AND constraint_type = 'CHECK'
);
SET @landfast_steps = IF(
    (SELECT COUNT(*) FROM information_schema.columns
     WHERE table_schema = DATABASE() AND table_name = 'landfast_effect' AND column_name = 'waits') > 0,
    'DO 0',
    CONCAT(
        'ALTER TABLE landfast_effect /*!80016 ', COALESCE(@landfast_check, ''), '*/ ',
        'MODIFY COLUMN state VARCHAR(10) NOT NULL DEFAULT ''ready'' ',
        'CHECK (state IN (''waiting'', ''ready'', ''claimed'', ''delayed'', ''done'', ''dead'')), ',
        'ADD COLUMN starts_at DATETIME(6), ADD COLUMN waits INT NOT NULL DEFAULT 0, ADD COLUMN step LONGBLOB, ',
        'ADD COLUMN result LONGBLOB'
    )
);
PREPARE landfast_alter FROM @landfast_steps;
EXECUTE landfast_alter;
DEALLOCATE PREPARE landfast_alter;

-- `key` waits for `awaited`, of the same run. A row goes when `key` is done, or expires.
CREATE TABLE IF NOT EXISTS landfast_effect_wait (
    `key`   VARCHAR(100) NOT NULL,
    run     INT          NOT NULL,
    awaited VARCHAR(100) NOT NULL,
    PRIMARY KEY (`key`, run, awaited),
    KEY landfast_effect_wait_awaited (awaited, run)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

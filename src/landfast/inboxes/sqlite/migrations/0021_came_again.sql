-- When an event came again: its second, in eight hexadecimal digits, for each report that counted it. See
-- `domain.summary.EventRecord.came_again`.
ALTER TABLE redelivery ADD COLUMN at TEXT NOT NULL DEFAULT '';

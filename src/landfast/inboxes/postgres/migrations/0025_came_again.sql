-- When an event came again: a time for each report that counted it. See `domain.summary.EventRecord.came_again`.
ALTER TABLE landfast.redelivery ADD COLUMN at timestamptz[] NOT NULL DEFAULT '{}';

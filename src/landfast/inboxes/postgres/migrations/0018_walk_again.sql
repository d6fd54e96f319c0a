-- When something of a week may become old enough that was not when it was looked through: it became done after the week.
ALTER TABLE landfast.retention_walk ADD COLUMN again_at timestamptz;

-- Since when an event is in hand, for people.
ALTER TABLE work ADD COLUMN claimed_at INTEGER;

-- Whether a pause takes back what is in hand, too.
ALTER TABLE switch ADD COLUMN at_once INTEGER NOT NULL DEFAULT 0;

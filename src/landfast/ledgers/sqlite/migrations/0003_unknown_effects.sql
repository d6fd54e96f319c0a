-- How long no worker has known the effect's name: a budget of its own, apart from the time of its tries. What waited
-- before its first try was nothing else.
ALTER TABLE landfast_effect ADD COLUMN tries_unknown REAL NOT NULL DEFAULT 0;
UPDATE landfast_effect SET tries_unknown = tries_spent, tries_spent = 0
WHERE done_at IS NULL AND tries_count = 0 AND tries_spent > 0;

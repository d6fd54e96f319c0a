-- Since when an event is in hand, for people. In no index, as the other columns of the lease.
ALTER TABLE landfast.work ADD COLUMN claimed_at timestamptz;
-- A claimed row is longer by it, and must still fit beside the one that it replaces: 90 % of the claims are HOT updates.
ALTER TABLE landfast.work SET (fillfactor = 45);

-- Whether a pause takes back what is in hand, too.
ALTER TABLE landfast.switch ADD COLUMN at_once boolean NOT NULL DEFAULT false;

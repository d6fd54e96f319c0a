-- One that is in the :state, and has been since before :before.
DELETE FROM job WHERE state = :state AND updated_at < :before

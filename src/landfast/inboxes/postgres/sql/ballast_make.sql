-- A tenth of each page is written: the rest is room, too, and costs the log nothing. Nobody changes a row, so there is
-- nothing to vacuum.
CREATE TABLE landfast.ballast_laid PARTITION OF landfast.ballast FOR VALUES IN (1)
WITH (fillfactor = 10, autovacuum_enabled = false)

-- What marks in a shared cache and messages in a broker are proven with. Everybody who has it may write to this database
-- anyway; a cache and a broker do not have it. It is drawn when a migration is over.
ALTER TABLE meta ADD COLUMN mac_key BLOB CHECK (length(mac_key) = 32);

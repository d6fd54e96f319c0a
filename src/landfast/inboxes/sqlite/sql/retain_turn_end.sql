-- A pass that did not come to its end leaves the time of the last one that did.
UPDATE retention SET holder = NULL, until = NULL, ended_at = iif(:is_complete, :now, ended_at) WHERE holder = :holder

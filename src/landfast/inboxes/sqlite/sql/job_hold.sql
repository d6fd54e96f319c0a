-- Its lease may be over: as long as nobody else took it, it is still ours.
UPDATE job SET leased_until = :until WHERE id = :id AND token = :token AND state = :state
RETURNING plan

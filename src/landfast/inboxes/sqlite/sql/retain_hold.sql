-- At the beginning of each step, and in its transaction. A holder that is silent for a minute is gone.
UPDATE retention SET until = max(until, :now + 60000000) WHERE holder = :holder AND until > :now
RETURNING one

-- Those that wait for one that is done now.
SELECT key, run FROM landfast_effect_wait WHERE awaited = :key AND run = :run ORDER BY key

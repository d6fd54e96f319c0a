-- Effects that stand for an event that has come.
SELECT key, run FROM landfast_effect_wait WHERE awaited = :key

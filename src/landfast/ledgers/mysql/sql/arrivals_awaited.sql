-- Effects that stand for an event that has come. Locked, because a plain read of a transaction sees what was committed
-- when it began.
SELECT `key`, run FROM landfast_effect_wait WHERE awaited = %(key)s FOR UPDATE

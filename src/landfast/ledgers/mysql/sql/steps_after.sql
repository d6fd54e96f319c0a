-- Those that wait for one that is done now. Locked, as in `arrivals_awaited`: under REPEATABLE READ the transaction of a
-- handler would not see those that began to wait since it first read. Shared, because nobody changes these rows here: so
-- neither whoever frees nor whoever expires waits for it.
SELECT `key`, run FROM landfast_effect_wait WHERE awaited = %(key)s AND run = %(run)s LOCK IN SHARE MODE

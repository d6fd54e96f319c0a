-- Locked: nobody takes it over before the COMMIT that it guards.
SELECT landfast.clock() FROM landfast.duty WHERE task = $1 AND holder = $2 AND until > landfast.clock() FOR UPDATE

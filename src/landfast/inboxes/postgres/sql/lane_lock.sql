-- Before the events of these lanes are moved: whoever moves others of the same lanes waits.
SELECT landfast.lock_lanes($1::text[], $2::text[])

-- The lanes that these hold.
SELECT source, lane FROM landfast.shelf WHERE event_id = ANY ($1::bytea[]) AND holds
UNION
SELECT source, lane FROM landfast.work WHERE event_id = ANY ($1::bytea[]) AND holds

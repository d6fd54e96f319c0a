-- Of the events $1 that wait in one of the states $2: when their handlers wanted to be tried again is forgotten, or a
-- worker would put off all of them but the first.
UPDATE landfast.shelf
SET tries = convert_to(coalesce((
    SELECT jsonb_object_agg(made.key, made.value - 'due')
    FROM jsonb_each(convert_from(tries, 'UTF8')::jsonb) AS made
), '{}')::text, 'UTF8')
WHERE event_id = ANY ($1::bytea[]) AND state = ANY ($2::text[]) AND tries <> '{}'

-- The lanes ($1, $2) go on: the oldest place in the line that got an event of the state $3.
SELECT landfast.advance($1::text[], $2::text[], $3)

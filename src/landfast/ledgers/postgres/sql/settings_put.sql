-- In this order, because a role may keep from setting what comes after it; for the transaction alone, or for the session.
SELECT set_config(name, value, is_local)
FROM unnest($1::text[], $2::text[], $3::boolean[]) AS given (name, value, is_local)

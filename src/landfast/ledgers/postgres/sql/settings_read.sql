-- What these are now. Null for a name that is no setting, or that nobody has set yet.
SELECT name, current_setting(name, true) AS value
FROM unnest($1::text[]) AS given (name)

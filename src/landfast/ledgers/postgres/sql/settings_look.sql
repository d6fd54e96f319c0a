-- What a handler could change of its session, as it is now. Who we are and names with a dot are not in the list.
SELECT name, current_setting(name) AS value
FROM pg_settings
WHERE context IN ('user', 'superuser') AND name NOT LIKE 'transaction\_%'
UNION ALL
SELECT name, coalesce(current_setting(name, true), '')
FROM unnest(ARRAY['session_authorization', 'role'] || $1::text[]) AS name

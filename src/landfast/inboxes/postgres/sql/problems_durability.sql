-- What is recorded sets synchronous_commit for itself, so it is not asked for here.
SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes']) AS name
WHERE current_setting(name) = 'off'
ORDER BY name

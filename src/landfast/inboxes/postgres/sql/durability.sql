-- As this session would get them: a role or a database may have its own.
SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
WHERE current_setting(name) = 'off'
ORDER BY name

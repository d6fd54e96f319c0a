-- As this session would get them: a role or a database may have its own.
SELECT name FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
ORDER BY name

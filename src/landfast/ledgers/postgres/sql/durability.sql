SELECT name, current_setting(name) AS setting FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name

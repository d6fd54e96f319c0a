-- The first migrations name no schema: they mean this one. Only until the COMMIT.
SELECT set_config('search_path', quote_ident($1), true)

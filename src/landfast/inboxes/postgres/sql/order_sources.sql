INSERT INTO landfast.ordered_source (source) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING source

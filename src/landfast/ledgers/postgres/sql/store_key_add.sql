INSERT INTO landfast_ledger.store_key (id, wrapped, master)
SELECT $1::bytea, $2::bytea, $3::text
WHERE NOT EXISTS (SELECT FROM landfast_ledger.store_key WHERE id = $1)
ON CONFLICT (id) DO NOTHING

SELECT digest, min(created_at) FROM landfast_ledger.receipt WHERE digest = ANY($1::bytea[]) GROUP BY digest

SELECT min(created_at) FROM landfast_receipt WHERE digest = %(digest)s

SELECT event_id, digest FROM landfast_erasure WHERE inbox = %(inbox)s

INSERT INTO landfast_erasure (inbox, event_id, digest, erased_at, who)
VALUES (%(inbox)s, %(event_id)s, %(digest)s, UTC_TIMESTAMP(6), %(who)s)
ON DUPLICATE KEY UPDATE who = landfast_erasure.who

DELETE FROM proof WHERE proof > :after_id AND (:upto IS NULL OR proof <= :upto) AND received_at < :before

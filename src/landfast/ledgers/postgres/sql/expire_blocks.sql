-- How many blocks a walk by place has to look at.
SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint AS blocks

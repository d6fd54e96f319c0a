-- Of the connection: MySQL commits at each CREATE TABLE, and a transaction's lock would end there. The name is for the
-- whole server, so the database is in it.
SELECT GET_LOCK(CONCAT('landfast ', MD5(DATABASE())), %(seconds)s) AS taken

-- Not by their @@names: a server that does not know one says nothing about it here, and fails there.
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'innodb_flush_method', 'log_bin', 'sync_binlog',
    'binlog_format', 'wsrep_on', 'version'
)

SELECT count(*), count({column}) FROM {table}

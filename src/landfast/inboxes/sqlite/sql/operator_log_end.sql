SELECT seq, digest, tag, "key" FROM operator_log_end

-- One writer at a time, also for the first line, when there is no row yet that could be locked. Readers do not wait.
LOCK TABLE landfast.operator_log_end IN SHARE ROW EXCLUSIVE MODE

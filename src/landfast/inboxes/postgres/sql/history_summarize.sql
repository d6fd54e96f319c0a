SELECT brin_summarize_new_values(inhrelid) FROM pg_inherits WHERE inhparent = 'landfast.history_by_seq'::regclass

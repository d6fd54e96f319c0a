SELECT name, pk FROM pragma_table_info(:relation)

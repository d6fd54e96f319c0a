SELECT source FROM ordered_source

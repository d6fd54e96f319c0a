INSERT INTO landfast.migration (number, name) VALUES ($1, $2)

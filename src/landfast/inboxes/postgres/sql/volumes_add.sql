INSERT INTO landfast.volume (quarter, meter, name, count) VALUES ($1, $2, $3, $4)

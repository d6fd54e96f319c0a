INSERT INTO volume (quarter, meter, name, count) VALUES (?, ?, ?, ?)

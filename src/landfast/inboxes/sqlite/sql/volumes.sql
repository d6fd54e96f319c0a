SELECT quarter, meter, name, count FROM volume WHERE quarter = ? ORDER BY meter, name

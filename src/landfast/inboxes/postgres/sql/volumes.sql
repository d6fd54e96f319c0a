SELECT quarter, meter, name, count FROM landfast.volume WHERE quarter = ANY ($1::timestamptz[])
ORDER BY quarter, meter, name

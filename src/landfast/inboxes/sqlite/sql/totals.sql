SELECT name, source, value FROM total

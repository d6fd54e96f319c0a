-- By the index, from its end: the first row that says so is a few rows away.
SELECT quarter FROM volume WHERE meter = '' AND name = '' ORDER BY quarter DESC LIMIT 1

SELECT EXISTS (SELECT 1 FROM work WHERE (token IS NULL AND suspect = 1) OR leased_until <= :now)

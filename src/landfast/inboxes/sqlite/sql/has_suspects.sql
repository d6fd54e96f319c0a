SELECT EXISTS (SELECT 1 FROM work WHERE suspect = 1 AND token IS NULL)
    OR EXISTS (SELECT 1 FROM work WHERE token IS NOT NULL AND leased_until <= :now)

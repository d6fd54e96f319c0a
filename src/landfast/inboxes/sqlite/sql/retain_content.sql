-- Headers and body of what `retain_still` found.
UPDATE body SET headers = :headers, body = :body, expired_at = :now
WHERE seq IN (SELECT value ->> 0 FROM json_each(:gone))

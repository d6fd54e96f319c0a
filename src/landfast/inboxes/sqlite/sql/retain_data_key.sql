DELETE FROM data_key WHERE seq IN (SELECT value ->> 0 FROM json_each(:gone))

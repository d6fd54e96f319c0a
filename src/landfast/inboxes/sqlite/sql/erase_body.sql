UPDATE body SET headers = :headers, body = :body, entity = NULL WHERE seq = :seq

SELECT min(received_at) FROM work WHERE token IS NULL

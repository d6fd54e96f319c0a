SELECT id, sink, content, incident, kind, made_at, tries, error, given_up_at FROM message ORDER BY seq LIMIT ?

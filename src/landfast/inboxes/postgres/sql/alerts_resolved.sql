SELECT incident, name, subject, severity, sentence, fix, figures, since, seen_at, told_at, told, resolved_at
FROM landfast.alert WHERE resolved_at IS NOT NULL ORDER BY resolved_at DESC, name, subject LIMIT $1

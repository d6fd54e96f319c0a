SELECT incident, name, subject, severity, sentence, fix, figures, since, seen_at, told_at, told, resolved_at
FROM landfast.alert WHERE resolved_at IS NULL ORDER BY since, name, subject

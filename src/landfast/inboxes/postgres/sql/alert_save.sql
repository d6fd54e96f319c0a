INSERT INTO landfast.alert (
    incident, name, subject, severity, sentence, fix, figures, since, seen_at, told_at, told, resolved_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (incident) DO UPDATE
SET
    severity = excluded.severity,
    sentence = excluded.sentence,
    fix = excluded.fix,
    figures = excluded.figures,
    seen_at = excluded.seen_at,
    told_at = excluded.told_at,
    told = excluded.told,
    resolved_at = excluded.resolved_at

-- From now on nothing more is written into the weeks before: what still comes for them is kept apart.
UPDATE landfast.weeks
SET
    body_from = CASE WHEN $1 = 'body' THEN greatest(body_from, $2) ELSE body_from END,
    history_from = CASE WHEN $1 = 'history' THEN greatest(history_from, $2) ELSE history_from END

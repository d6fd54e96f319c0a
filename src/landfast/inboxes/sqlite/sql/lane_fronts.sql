-- Of one lane: the first place that the :token has there, and the first ones that others hold, at work and on the shelf.
SELECT
    (SELECT place FROM work WHERE source = :source AND lane = :lane AND holds AND token = :token ORDER BY place LIMIT 1),
    (SELECT place FROM work WHERE source = :source AND lane = :lane AND holds AND token IS NOT :token
     ORDER BY place LIMIT 1),
    (SELECT place FROM shelf WHERE source = :source AND lane = :lane AND holds ORDER BY place LIMIT 1)

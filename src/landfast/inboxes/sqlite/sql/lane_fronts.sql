-- Of each lane that is held at one of the :places: the first place that the :token has there, and the first ones that
-- others hold, at work and on the shelf.
SELECT
    l.source, l.lane,
    (SELECT place FROM work WHERE source = l.source AND lane = l.lane AND holds AND token = :token
     ORDER BY place LIMIT 1),
    (SELECT place FROM work WHERE source = l.source AND lane = l.lane AND holds AND token IS NOT :token
     ORDER BY place LIMIT 1),
    (SELECT place FROM shelf WHERE source = l.source AND lane = l.lane AND holds ORDER BY place LIMIT 1)
FROM (SELECT DISTINCT source, lane FROM work WHERE holds AND seq IN (SELECT value FROM json_each(:places))) l

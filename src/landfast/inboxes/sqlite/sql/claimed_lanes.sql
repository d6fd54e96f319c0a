-- The lanes that are held by what a claim has just leased.
SELECT DISTINCT source, lane FROM work WHERE holds AND seq IN (SELECT value FROM json_each(:places))

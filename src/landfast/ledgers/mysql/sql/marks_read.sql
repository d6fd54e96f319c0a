-- A mark that this transaction has locked, as it is, whatever view of the past it has. One at a time, by the whole key: of
-- a list of pairs not every server makes a search, and a scan would wait for the marks of others.
SELECT lane, handler, `before`
FROM landfast_lane_mark
WHERE lane = %(lane)s AND handler = %(handler)s
FOR UPDATE

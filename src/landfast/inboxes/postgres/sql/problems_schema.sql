-- What our statements rely on, partitions left out because they come and go. Before the colon what the promises rest on:
-- the columns, and what is unique, in the tables that hold events. Behind it the rest, in which an index that somebody
-- adds is a change, and no reason to take nothing in.
SELECT
    md5(coalesce(string_agg(part, E'\n' ORDER BY part COLLATE "C") FILTER (WHERE is_vital), ''))
    || ':'
    || md5(coalesce(string_agg(part, E'\n' ORDER BY part COLLATE "C") FILTER (WHERE NOT is_vital), ''))
FROM (
    SELECT
        concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) AS part,
        c.relname IN ('meta', 'identity', 'body', 'work', 'shelf', 'history', 'proof', 'weeks') AS is_vital
    FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE
        c.relnamespace = 'landfast'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
    UNION ALL
    SELECT
        concat_ws(' ', c.relname, x.indisunique, x.indisvalid, x.indpred IS NOT NULL, (
            SELECT string_agg(a.attname, ',' ORDER BY k.place)
            FROM unnest(x.indkey::smallint[]) WITH ORDINALITY AS k (attnum, place)
            JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attnum
        )),
        x.indisunique AND c.relname IN ('meta', 'identity', 'body', 'work', 'shelf', 'history', 'proof')
    FROM pg_index AS x
    JOIN pg_class AS c ON c.oid = x.indrelid
    WHERE c.relnamespace = 'landfast'::regnamespace AND NOT c.relispartition
    UNION ALL
    SELECT concat_ws(' ', p.proname, pg_get_function_identity_arguments(p.oid)), false
    FROM pg_proc AS p
    WHERE p.pronamespace = 'landfast'::regnamespace
) AS parts

-- As `record`, for a batch in which something is held. Apart from it, because nobody who holds the shelf may keep all of
-- intake waiting. $18: the state of what is held.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
),
delivery AS MATERIALIZED (
    SELECT d.*, substring($10::bytea FROM 16 * number::integer - 15 FOR 16) AS place
    FROM unnest(
        $1::bytea[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::bytea[],
        $9::bytea[], $11::bytea[], $12::text[]
    ) WITH ORDINALITY AS d (
        event_id, received_at, source, key, type, entity, occurred_at, headers, body, data_key, hold, number
    )
    WHERE current_setting('fsync') = 'on'
),
fresh AS (
    INSERT INTO landfast.identity (event_id, received_at, data_key)
    SELECT event_id, received_at, data_key FROM delivery ORDER BY event_id
    ON CONFLICT (event_id) DO NOTHING
    RETURNING event_id
),
bodies AS (
    INSERT INTO landfast.body (received_at, event_id, source, key, type, entity, occurred_at, headers, body, place, kept)
    SELECT
        received_at, event_id, source, key, type, entity, occurred_at, headers, body, place,
        NOT (
            received_at >= (SELECT body_from FROM landfast.weeks)
            AND received_at < (SELECT body_until FROM landfast.weeks)
        )
    FROM delivery JOIN fresh USING (event_id)
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, place, holds)
    SELECT
        event_id, received_at, source, entity, type, place,
        entity IS NOT NULL AND source IN (SELECT o.source FROM landfast.ordered_source AS o)
    FROM delivery JOIN fresh USING (event_id)
    WHERE hold = ''
    ORDER BY number
),
held AS (
    INSERT INTO landfast.shelf (
        event_id, state, run, forced, suspect, crashes, tries, reason, received_at, source, lane, type, place
    )
    SELECT event_id, $18, 1, false, false, 0, '{}', hold, received_at, source, entity, type, place
    FROM delivery JOIN fresh USING (event_id)
    WHERE hold <> ''
),
known_key AS (
    -- With each batch: an inbox that was restored from a copy may have lost it, and could not be opened without it.
    INSERT INTO landfast.store_key (id, wrapped, master)
    SELECT $15::bytea, $16::bytea, $17::text
    WHERE $15 IS NOT NULL AND NOT EXISTS (SELECT FROM landfast.store_key WHERE id = $15)
    ON CONFLICT (id) DO NOTHING
),
counted AS (
    -- The last lock that is taken: whoever waits for this row holds nothing that its owner still needs.
    INSERT INTO landfast.counted AS t (boot, slot, source, stored)
    SELECT $13, $14, source, count(*) FROM delivery JOIN fresh USING (event_id) GROUP BY source ORDER BY source
    ON CONFLICT (boot, slot, source) DO UPDATE SET stored = t.stored + EXCLUDED.stored
)
SELECT event_id, current_setting('fsync') AS fsync FROM durably LEFT JOIN fresh ON setting = 'on'

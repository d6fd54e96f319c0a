-- One statement, one COMMIT. In the order of their ids: two batches that share events take their locks in the same order.
-- $10 has the places, 16 bytes each, one behind the other: the driver then writes one value, and not one for each event.
-- A twin that is being recorded elsewhere is waited for; it then is durable, and not new here.
-- A server that runs with fsync off takes nothing, and says so in the one row that there always is.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
),
delivery AS MATERIALIZED (
    SELECT d.*, substring($10::bytea FROM 16 * number::integer - 15 FOR 16) AS place
    FROM unnest(
        $1::bytea[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::bytea[],
        $9::bytea[], $11::bytea[]
    ) WITH ORDINALITY AS d (
        event_id, received_at, source, key, type, entity, occurred_at, headers, body, data_key, number
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
    ORDER BY number
    RETURNING source
),
known_key AS (
    -- With each batch: an inbox that was restored from a copy may have lost it, and could not be opened without it.
    INSERT INTO landfast.store_key (id, wrapped, master)
    SELECT $14::bytea, $15::bytea, $16::text
    WHERE $14 IS NOT NULL AND NOT EXISTS (SELECT FROM landfast.store_key WHERE id = $14)
    ON CONFLICT (id) DO NOTHING
),
counted AS (
    -- The last lock that is taken: whoever waits for this row holds nothing that its owner still needs.
    INSERT INTO landfast.counted AS t (boot, slot, source, stored)
    SELECT $12, $13, source, count(*) FROM ready GROUP BY source ORDER BY source
    ON CONFLICT (boot, slot, source) DO UPDATE SET stored = t.stored + EXCLUDED.stored
)
SELECT event_id, current_setting('fsync') AS fsync FROM durably LEFT JOIN fresh ON setting = 'on'

"""A week of events on PostgreSQL, by SQL: as they are once they were processed, a receipt for each that is done."""

from __future__ import annotations

CLOCKS = tuple(
    f"CREATE OR REPLACE FUNCTION {schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE"
    " AS 'SELECT now() + interval ''{days} days'''"
    for schema in ("landfast", "landfast_ledger")
)

# Of a hundred events one is a dead letter and one is unhandled; of ten thousand one is still paused.
FILL = (
    """
    CREATE TEMPORARY TABLE made AS
    SELECT
        '{week}-' || n AS key, decode(md5('{week}-' || n), 'hex') AS event_id,
        date_trunc('week', landfast.clock()) + n * (interval '6 days' / {count}) AS received_at,
        CASE
            WHEN n % 10000 = 7 THEN 'paused'
            WHEN n % 100 = 1 THEN 'dead'
            WHEN n % 100 = 2 THEN 'unhandled'
            ELSE 'done'
        END AS state
    FROM generate_series(1, {count}) AS n
    """,
    "INSERT INTO landfast.identity (event_id, received_at) SELECT event_id, received_at FROM made ORDER BY event_id",
    """
    INSERT INTO landfast.body (received_at, event_id, source, key, type, headers, body)
    SELECT received_at, event_id, 'stripe', key, 'invoice.paid', '[["content-type","application/json"]]',
        convert_to(repeat(md5(key), {size} / 32), 'UTF8')
    FROM made
    """,
    """
    INSERT INTO landfast.shelf (event_id, state, run, forced, suspect, crashes, tries, received_at, source, type)
    SELECT event_id, state, 1, false, false, 0, '{{}}', received_at, 'stripe', 'invoice.paid'
    FROM made WHERE state <> 'done'
    """,
    """
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, handlers)
    SELECT received_at, event_id, received_at + interval '1 s', 1, false, 'finish', state, 'book' FROM made
    """,
    # As domain/ids.py makes the digest: each part behind its length.
    """
    INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome, created_at)
    SELECT
        substr(sha256(
            int4send(16) || '\\x{inbox}'::bytea || int4send(6) || 'stripe'::bytea
            || int4send(length(key)) || key::bytea
        ), 1, 16) AS digest, 'book', 1, 'done', received_at + interval '1 s'
    FROM made WHERE state = 'done' ORDER BY digest
    """,
    """
    INSERT INTO landfast.total AS t (name, source, value) VALUES ('recorded', '', {count})
    ON CONFLICT (name, source) DO UPDATE SET value = t.value + EXCLUDED.value
    """,
    "DROP TABLE made",
)

UNINDEXED = (
    "ALTER TABLE landfast.identity DROP CONSTRAINT identity_pkey",
    "ALTER TABLE landfast_ledger.receipt DROP CONSTRAINT receipt_pkey",
    "SET maintenance_work_mem = '512MB'",
)
INDEXED_AGAIN = (
    "ALTER TABLE landfast.identity ADD CONSTRAINT identity_pkey PRIMARY KEY (event_id)",
    "ALTER TABLE landfast_ledger.receipt ADD CONSTRAINT receipt_pkey PRIMARY KEY (digest, handler, run)",
)
"""To sort ten million random ids once takes a tenth of what it takes to put each into its place."""

RECEIPTS = """
INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome, created_at)
SELECT
    decode(md5('before {week}-' || n), 'hex') AS digest, 'book', 1, 'done',
    date_trunc('week', landfast.clock()) - {week} * interval '7 days' + n * (interval '6 days' / {count})
FROM generate_series(1, {count}) AS n ORDER BY digest
"""

SIZES = """
SELECT
    CASE WHEN relnamespace = 'landfast'::regnamespace THEN 'inbox' ELSE 'ledger' END AS name,
    sum(pg_total_relation_size(oid))::bigint AS size
FROM pg_class
WHERE relnamespace IN ('landfast'::regnamespace, 'landfast_ledger'::regnamespace) AND relkind = 'r'
GROUP BY 1 ORDER BY 1
"""

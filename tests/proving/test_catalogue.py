"""A PostgreSQL schema with whatever users have in it is made again in the copy."""

from __future__ import annotations

import asyncpg
import pytest

from landfast import Event, Inbox
from landfast.proving.copies.postgres import PostgresCopies
from tests.proving.planted import Tx

SCHEMA = """
CREATE SCHEMA billing;
CREATE TYPE billing.mood AS ENUM ('glad', 'sad');
CREATE TYPE billing.pair AS (a int, b text);
CREATE DOMAIN billing.cents AS bigint CHECK (VALUE >= 0);
CREATE SEQUENCE billing.numbers START 1000;
CREATE FUNCTION billing.stamp() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.touched := now(); RETURN NEW; END $$;
CREATE TABLE billing.customer (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL, how billing.mood DEFAULT 'glad',
    shout text GENERATED ALWAYS AS (upper(name)) STORED
);
CREATE TABLE billing.invoice (
    id serial PRIMARY KEY, number bigint DEFAULT nextval('billing.numbers'), customer uuid REFERENCES billing.customer,
    amount billing.cents, pair billing.pair, touched timestamptz, UNIQUE (number)
);
CREATE INDEX ON billing.invoice (amount) WHERE amount > 0;
CREATE VIEW billing.open AS SELECT * FROM billing.invoice WHERE amount > 0;
CREATE TRIGGER stamp BEFORE INSERT ON billing.invoice FOR EACH ROW EXECUTE FUNCTION billing.stamp();
CREATE TABLE log (at date NOT NULL, what text) PARTITION BY RANGE (at);
CREATE TABLE log_old PARTITION OF log FOR VALUES FROM ('2020-01-01') TO ('2026-01-01');
CREATE TABLE log_new PARTITION OF log FOR VALUES FROM ('2026-01-01') TO ('2999-01-01');
INSERT INTO billing.customer (id, name) VALUES ('00000000-0000-0000-0000-000000000001', 'Ada');
INSERT INTO billing.invoice (customer, amount, pair) VALUES ('00000000-0000-0000-0000-000000000001', 5, (1, 'x'));
CREATE TABLE big (n int); INSERT INTO big SELECT generate_series(1, 1001)
"""

DESCRIBED = """
SELECT 'column', table_schema, table_name, column_name, data_type, udt_name, column_default, is_nullable,
    is_generated FROM information_schema.columns WHERE table_schema IN ('public', 'billing')
UNION ALL SELECT 'index', schemaname, tablename, indexname, indexdef, '', '', '', '' FROM pg_indexes
    WHERE schemaname IN ('public', 'billing')
UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, replace(pg_get_constraintdef(oid), ' NOT VALID', ''),
    '', '', '', '', '' FROM pg_constraint WHERE contype IN ('p', 'u', 'f', 'c') AND connamespace::regnamespace::text
    IN ('public', 'billing') AND conrelid <> 0
UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), '', '', '', '', ''
    FROM pg_trigger WHERE NOT tgisinternal
ORDER BY 1, 2, 3, 4
"""


async def test_the_copy_has_what_the_users_database_has(database: str) -> None:
    real = await asyncpg.connect(database)
    await real.execute(SCHEMA)
    copies = PostgresCopies(database)
    await copies.open()
    copy = await asyncpg.connect(copies.address())
    try:
        assert await copy.fetch(DESCRIBED) == await real.fetch(DESCRIBED)
        assert copies.notes == ["rows of big are not copied: there are more than 1,000"]
        for table in ("billing.customer", "billing.invoice", "billing.open"):
            assert await copy.fetch(f"SELECT * FROM {table}") == await real.fetch(f"SELECT * FROM {table}")
        assert await copy.fetchval("INSERT INTO billing.invoice (amount) VALUES (1) RETURNING number") == 1001
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await copy.execute("INSERT INTO billing.invoice (customer) VALUES (gen_random_uuid())")
    finally:
        await copy.close()
        await real.close()
        await copies.close()


async def test_tables_may_come_from_a_script(database: str) -> None:
    inbox = Inbox(store="nothing-is-stored.db", ledger=database)
    inbox.source("stripe", provider="stripe", secrets=["whsec_test"])

    @inbox.on("stripe", "payment_intent.succeeded")
    async def add(event: Event, tx: Tx) -> None:
        await tx.execute("INSERT INTO orders VALUES ($1)", event.key)

    assert [each.kind for each in inbox.prove(add).findings] == ["fails"]
    assert not inbox.prove(add, schema="CREATE TABLE orders (payment text)").findings

"""How a PostgreSQL ledger is walked through: by place, so that receipts need no index by age."""

from __future__ import annotations

import asyncpg
import pytest

from landfast.ledgers.postgres import rows
from tests.ledgers.conftest import PostgresDesk

pytestmark = pytest.mark.req("R43")


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("receipts_expire", "('(0,0)', '(32,0)', 1.0, 1.0)"),
        ("effects_expire", "('(0,0)', '(32,0)', 'done', 1.0, 'dead', 1.0, 'waiting')"),
    ],
)
async def test_a_step_reads_its_own_pages_and_no_others(
    postgres_desk: PostgresDesk, statement: str, values: str
) -> None:
    # As the server plans it once and for all, whatever it is asked.
    await postgres_desk.change(
        "INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome)"
        " SELECT decode(md5(n::text), 'hex'), 'h', 1, 'done' FROM generate_series(1, 20000) AS n;"
        " INSERT INTO landfast_ledger.effect (key, run, name, arguments, context, digest, handler)"
        " SELECT n::text, 1, 'mail', '{}', '{}', decode(md5(n::text), 'hex'), 'h' FROM generate_series(1, 20000) AS n;"
        " INSERT INTO landfast_ledger.effect_wait (key, run, awaited)"
        " SELECT n::text, 1, (n + m)::text FROM generate_series(1, 20000) AS n, generate_series(1, 5) AS m;"
        " ANALYZE landfast_ledger.receipt, landfast_ledger.effect, landfast_ledger.effect_wait"
    )
    ages = "float8, float8" if statement == "receipts_expire" else "text, float8, text, float8, text"
    connection = await asyncpg.connect(postgres_desk.dsn)
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    await connection.execute(f"PREPARE walk (tid, tid, {ages}) AS {rows.SQL[statement]}")
    plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE walk{values}"))
    await connection.close()
    assert "Tid Range Scan" in plan
    assert "Seq Scan on receipt" not in plan
    assert "Seq Scan on effect" not in plan

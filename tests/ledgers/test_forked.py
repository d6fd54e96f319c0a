"""A server that imports the application and forks then, as gunicorn does with `preload_app`: a child never speaks on a
connection that its parent opened, because all of its siblings would."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

from tests.patience import PATIENCE_SECONDS

CHILD = """
    import asyncio, json, os, sys
    from landfast.domain.errors import ConfigError
    from landfast.testing.clock import ManualClock, SeededChance
    from landfast.testing.conformance.ledger.desk import key

    {parent}

    async def process():
        ledger = make()
        try:
            await ledger.open()
        except ConfigError as error:
            return str(error)
        await ledger.migrate()
        tx = await ledger.begin(deadline=30)
        await tx.reserve([key()])
        scope = await tx.scope()
        look = "SELECT pg_backend_pid()"
        found, _ = await tx.lane.start(lambda: {backend}, is_async=False).ended
        await tx.rollback()
        await ledger.close()
        return found

    child = os.fork()
    if child == 0:
        print(json.dumps([before, asyncio.run(process())]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    os._exit(0)
"""

ENGINE = """
    from sqlalchemy import create_engine, text
    from tests.ledgers.stacks import ledger_on
    engine = create_engine(sys.argv[1].replace("postgresql://", "postgresql+{driver}://"))
    make = lambda: ledger_on(engine)
    make()  # as Inbox(ledger=engine) does when it is imported
    with engine.connect() as connection:
        before = connection.execute(text("SELECT pg_backend_pid()")).scalar()
"""

POOL = """
    from landfast.ledgers.psycopg import BlockingPsycopgLedger
    from psycopg_pool import ConnectionPool
    pool = ConnectionPool(sys.argv[1], min_size=1, open=True)
    make = lambda: BlockingPsycopgLedger(pool, clock=ManualClock(), chance=SeededChance(1))
    with pool.connection() as connection:
        before = connection.info.backend_pid
"""


def in_a_child(dsn: str, parent: str, backend: str) -> list[object]:
    """What the parent's backend was, and what the child had."""
    code = textwrap.dedent(CHILD).format(parent=textwrap.dedent(parent), backend=backend)
    ran = subprocess.run(
        [sys.executable, "-c", code, dsn], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert ran.stdout, ran.stderr
    said: list[object] = json.loads(ran.stdout)
    return said


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_an_engine_that_was_used_before_the_fork_gives_the_child_connections_of_its_own(
    database: str, driver: str
) -> None:
    backend = "scope.given('session').execute(text(look)).scalar()"
    before, found = in_a_child(database, ENGINE.format(driver=driver), backend)
    assert isinstance(before, int)
    assert isinstance(found, int)
    assert before != found


def test_a_psycopg_pool_that_was_opened_before_the_fork_is_refused(database: str) -> None:
    before, found = in_a_child(database, POOL, "scope.given('connection').info.backend_pid")
    assert isinstance(before, int)
    assert "opened before this process was forked" in str(found)

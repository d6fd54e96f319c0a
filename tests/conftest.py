"""What every test may ask for by name."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from landfast import telemetry
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.inboxes.postgres import PostgresInbox, connection
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers import limits
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.log_lines import LINES
from landfast.testing.clock import ManualClock, SeededChance
from tests import mariadb as mariadb_server
from tests.authorities import trust_nobody
from tests.mariadb import MariaDb
from tests.patience import PATIENCE_SECONDS
from tests.pgbouncer import PROGRAM, PgBouncer
from tests.servers import Postgres

# A process more for each `serve` that tests start, and one port that all of them would want: those that ask for it do.
os.environ.setdefault("LANDFAST_ADMIN_PORT", "0")

trust_nobody()

# No server is away because the machine stood still for ten seconds. Tests about these limits set their own.
limits.ANSWER_WAIT = limits.CONNECT_WAIT = connection.ANSWERS_WITHIN = connection.CONNECTS_WITHIN = PATIENCE_SECONDS / 2

# How long an example takes depends on who else uses the machine; speed is the bench's.
# What fails is printed with the line that repeats it.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("no clock")


def pytest_configure() -> None:
    """A shell starts what it puts in the background with Ctrl-C ignored, and every child inherits that: the tests of
    Ctrl-C would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until everything is collected: it would look through it again and again


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: whoever runs one that begins last keeps all the others waiting for the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: from here on nobody looks through them for garbage."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def strange_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Lines of the log, and fields in them, that are not in `landfast.log_lines`: a test that causes one fails."""
    found: list[str] = []
    written = telemetry._line

    def checked(name: str, facts: dict[str, Any]) -> str:
        line = LINES.get(name)
        if line is None:
            found.append(name)
        else:
            found.extend(f"{name} {field}" for field in facts if field not in line.fields)
        return written(name, facts)

    monkeypatch.setattr(telemetry, "_line", checked)
    yield found
    assert not found


@pytest.fixture(autouse=True)
def modules_of_a_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Half of the tests write a `shop.py` and import it: the next one that does must not get theirs."""
    before = set(sys.modules)
    yield
    written = str(tmp_path_factory.getbasetemp())
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(written):
            del sys.modules[name]


@pytest.fixture(autouse=True, scope="module")
def garbage_of_a_file() -> Iterator[None]:
    """Whatever a file of tests left open is found at its end, and not while a stranger's test runs, or never."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for each process of the test run; a test that stops it starts it again."""
    server = Postgres()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@pytest.fixture(scope="session")
def migrated(postgres: Postgres) -> str:
    """A database to copy: hundreds of tests need not migrate each. It has the tables of an inbox and of a ledger."""

    async def migrate(dsn: str) -> None:
        clock, chance = SystemClock(), SystemChance()
        for store in (PostgresInbox(dsn, clock=clock, chance=chance), PostgresLedger(dsn, clock=clock, chance=chance)):
            await store.open()
            await store.migrate()
            await store.close()

    name = postgres.new_database()
    with ThreadPoolExecutor(1) as thread:  # a fixture that is asked for by another one may be on a running loop
        thread.submit(asyncio.run, migrate(postgres.dsn(name))).result()
    return name


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for SQLite: `inbox.db` and `ledger.db`, to copy. To migrate takes longer than most of the tests."""
    folder = tmp_path_factory.mktemp("migrated")

    async def migrate() -> None:
        clock, chance = ManualClock(), SeededChance()
        inbox = SqliteInbox(folder / "inbox.db", clock=clock, chance=chance)
        for store in (inbox, SqliteLedger(folder / "ledger.db", clock=clock, chance=chance)):
            await store.open()
            await store.migrate()
            await store.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, migrate()).result()
    return folder


@pytest.fixture
def migrated_database(postgres: Postgres, migrated: str) -> Iterator[str]:
    """The DSN of a database of its own with the tables of an inbox and of a ledger, and nothing in them."""
    name = postgres.new_database(template=migrated)
    yield postgres.dsn(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def pgbouncer(postgres: Postgres) -> Iterator[PgBouncer]:
    """In front of that server."""
    if PROGRAM is None:
        pytest.skip("pgbouncer is not installed: apt-get install pgbouncer")
    pooler = PgBouncer(postgres)
    try:
        pooler.start()
        yield pooler
    finally:
        pooler.destroy()


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """One server for each process of the test run that asks for it; a test that kills it starts it again."""
    if mariadb_server.PROGRAM is None:
        pytest.skip(mariadb_server.ABSENT)
    server = MariaDb()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@pytest.fixture
def mariadb_database(mariadb: MariaDb) -> Iterator[str]:
    """The name of a fresh, empty database."""
    name = mariadb.new_database()
    yield name
    mariadb.drop_database(name)


@pytest.fixture
def database_name(postgres: Postgres) -> Iterator[str]:
    name = postgres.new_database()
    yield name
    postgres.drop_database(name)


@pytest.fixture
def database(postgres: Postgres, database_name: str) -> str:
    """The DSN of a fresh, empty database."""
    return postgres.dsn(database_name)

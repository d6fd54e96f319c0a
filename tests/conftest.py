"""What every test may ask for by name."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from landfast import telemetry
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.inboxes.postgres import PostgresInbox
from landfast.ledgers.postgres import PostgresLedger
from landfast.log_lines import LINES
from tests.servers import Postgres

# How long an example takes depends on who else uses the machine; speed is the bench's.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


def pytest_configure() -> None:
    """A shell starts what it puts in the background with Ctrl-C ignored, and every child inherits that: the tests of
    Ctrl-C would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: whoever runs one that begins last keeps all the others waiting for the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


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


@pytest.fixture
def migrated_database(postgres: Postgres, migrated: str) -> Iterator[str]:
    """The DSN of a database of its own with the tables of an inbox and of a ledger, and nothing in them."""
    name = postgres.new_database(template=migrated)
    yield postgres.dsn(name)
    postgres.drop_database(name)


@pytest.fixture
def database_name(postgres: Postgres) -> Iterator[str]:
    name = postgres.new_database()
    yield name
    postgres.drop_database(name)


@pytest.fixture
def database(postgres: Postgres, database_name: str) -> str:
    """The DSN of a fresh, empty database."""
    return postgres.dsn(database_name)

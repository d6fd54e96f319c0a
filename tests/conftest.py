"""What every test may ask for by name."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.servers import Postgres


def pytest_configure() -> None:
    """A shell starts what it puts in the background with Ctrl-C ignored, and every child inherits that: the tests of
    Ctrl-C would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for each process of the test run; a test that stops it starts it again."""
    server = Postgres()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@pytest.fixture
def database_name(postgres: Postgres) -> Iterator[str]:
    name = postgres.new_database()
    yield name
    postgres.drop_database(name)


@pytest.fixture
def database(postgres: Postgres, database_name: str) -> str:
    """The DSN of a fresh, empty database."""
    return postgres.dsn(database_name)

"""What tests of journals ask for by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.journals.jetstream_bench import Bench
from tests.nats import Nats


@pytest.fixture(scope="session")
def nats_server() -> Iterator[Nats]:
    """One for each process of the test run, for tests that do not stop it."""
    server = Nats()
    try:
        server.start()
        yield server
    finally:
        server.destroy()


@pytest.fixture
async def bench(nats_server: Nats) -> AsyncIterator[Bench]:
    """A stream of its own on the shared server; nobody has made it yet."""
    bench = Bench(nats_server)
    yield bench
    await bench.close()


@pytest.fixture
async def mortal() -> AsyncIterator[Bench]:
    """The same on a server of its own, to be killed; not started yet."""
    server = Nats()
    bench = Bench(server)
    yield bench
    await bench.close()
    server.destroy()

"""What tests of journals ask for by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from landfast.journals import jetstream_backlog, jetstream_link
from tests.journals.jetstream_bench import Bench
from tests.nats import Nats
from tests.patience import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def budget(monkeypatch: pytest.MonkeyPatch) -> float:
    """The real budget for an answer of a broker. On a machine that stands still one that is there may take longer; a test
    of one that is away, or says nothing, sets less."""
    real = jetstream_link.ANSWER_SECONDS
    for module in (jetstream_link, jetstream_backlog):
        monkeypatch.setattr(module, "ANSWER_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(jetstream_link, "CONNECT_SECONDS", PATIENCE_SECONDS)
    return real


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

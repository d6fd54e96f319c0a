"""The row measures how soon a worker is woken, never how often it polls."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import stores
from bench.rows import fairness
from landfast.processing import worker
from tests.servers import Postgres


@pytest.fixture
def nobody_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "WAKEUP_POLL_SECONDS", 3600.0)
    monkeypatch.setattr(fairness, "SETTLES_WITHIN", 300.0)


@pytest.mark.usefixtures("nobody_polls")
async def test_on_postgres_every_event_is_done_although_nobody_polls(postgres: Postgres, tmp_path: Path) -> None:
    # The tests' own server will do: nobody asks it for the processor time that it used.
    async with stores.on_postgres(postgres) as store:  # type: ignore[arg-type]
        assert len(await fairness.run(store, tmp_path, count=10)) == 10


@pytest.mark.usefixtures("nobody_polls")
async def test_on_sqlite_every_event_is_done_although_nobody_polls(tmp_path: Path) -> None:
    async with stores.on_sqlite(tmp_path) as store:
        assert len(await fairness.run(store, tmp_path, count=10)) == 10


@pytest.mark.parametrize(("count", "nth"), [(1, 1), (2, 2), (100, 99), (101, 100), (2000, 1980)])
def test_the_slowest_of_a_hundred_is_not_their_p99(count: int, nth: int) -> None:
    assert fairness.percentile(range(1, count + 1), 99) == nth

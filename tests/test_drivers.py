"""Drivers are chosen by the scheme of an address; another package may bring one."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from landfast import drivers
from landfast.app import Inbox
from landfast.config import load
from landfast.domain.effect import EffectState
from landfast.domain.errors import ConfigError
from landfast.domain.event import Event
from landfast.ports.ledger import Ledger
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.arrivals import ArrivalConformance
from landfast.testing.conformance.ledger.audits import AuditConformance
from landfast.testing.conformance.ledger.effects import EffectConformance
from landfast.testing.conformance.ledger.erase import EraseConformance
from landfast.testing.conformance.ledger.expiry import ExpiryConformance
from landfast.testing.conformance.ledger.grid import EffectGridConformance
from landfast.testing.conformance.ledger.lane_memory import LaneStateConformance, MarkConformance
from landfast.testing.conformance.ledger.receipts import ReceiptConformance, TombstoneConformance
from landfast.testing.conformance.ledger.replays import ReplayConformance
from landfast.testing.conformance.ledger.steps import StepConformance
from landfast.testing.factory import deliveries

ROOT = Path(__file__).resolve().parent.parent
MODULE = "memory_ledger"
POINTS = f"""[landfast.ledgers]
memory = {MODULE}:DRIVER
nothing = {MODULE}:Tables
absent = {MODULE}:NO_SUCH_DRIVER
"""


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The skeleton of the how-to in a package with entry points, as pip would leave it."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/howto/write-a-driver.md").read_text(), re.DOTALL)
    site = tmp_path / "site"
    info = site / "memory_ledger-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{MODULE}.py").write_text(block)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memory-ledger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(site))
    drivers._brought.cache_clear()
    yield importlib.import_module(MODULE)
    sys.modules.pop(MODULE)
    drivers._brought.cache_clear()


def test_landfasts_own_drivers_are_known_without_an_entry_point_and_other_schemes_list_them() -> None:
    assert drivers.ledger_driver("sqlite").has_one_writer and drivers.ledger_driver("sqlite").is_file
    assert not drivers.ledger_driver("postgresql").has_one_writer
    for find in (drivers.inbox_driver, drivers.ledger_driver):
        with pytest.raises(
            ConfigError, match=r"'oracle' is no kind of database that is installed; .* postgresql, sqlite"
        ):
            find("oracle")


def test_a_scheme_of_another_package_is_known_to_the_settings(brought: Any) -> None:
    settings = load(environ={"LANDFAST_LEDGER": "memory://me:hunter2@here/shop"})
    assert (settings.ledger_driver, settings.concurrency) == (brought.DRIVER, 1)
    assert (settings.ledger.target, str(settings.ledger)) == ("memory://me:hunter2@here/shop", "memory://me@here/shop")
    with pytest.raises(ConfigError, match="workers is 2, but a memory ledger has one writer"):
        load(environ={"LANDFAST_LEDGER": "memory:shop", "LANDFAST_WORKERS": "2"})


def test_a_store_that_no_ledger_can_follow_needs_a_ledger_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    of_its_own = {**drivers._INBOXES, "queue": drivers._INBOXES["postgresql"]}
    monkeypatch.setattr(drivers, "_INBOXES", of_its_own)
    with pytest.raises(ConfigError, match=r"ledger: it is not set, and cannot follow store: 'queue' is .*; set it"):
        load(environ={"LANDFAST_STORE": "queue://here"})
    assert load(environ={"LANDFAST_STORE": "queue://here", "LANDFAST_LEDGER": "a.db"}).ledger.scheme == "sqlite"


@pytest.mark.usefixtures("brought")
@pytest.mark.parametrize(
    ("key", "address", "sentence"),
    [
        (
            "LEDGER",
            "memry:shop",
            "ledger: 'memry' is no kind of database .* absent, django, memory, mysql, nothing, postgresql, sqlite",
        ),
        ("STORE", "memory:shop", "store: 'memory' is no kind of database .* postgresql, sqlite"),
        (
            "LEDGER",
            "nothing:shop",
            "ledger: the entry point 'nothing' of landfast.ledgers must be a landfast.drivers.Ledg",
        ),
        ("LEDGER", "absent:shop", "ledger: the entry point 'absent' of landfast.ledgers cannot be loaded"),
        ("LEDGER", "memory://here:port/x", "ledger: the memory address is malformed; check its host and port"),
    ],
)
def test_what_is_wrong_with_an_address_is_one_sentence(key: str, address: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load(environ={f"LANDFAST_{key}": address})


async def test_an_event_is_processed_on_the_driver_of_another_package(
    brought: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inbox = Inbox(ledger="memory:shop", store="in.db")
    inbox.source("shop", provider="stripe", secrets=["whsec_" + "a" * 32])
    sent = []

    @inbox.effect
    async def confirm(effect: Any, *, order: str) -> None:
        sent.append(order)

    @inbox.on("shop", "*")
    async def create_order(event: Event, tx: Any) -> None:
        await tx.execute("INSERT INTO orders VALUES ($1)", event.key)
        tx.stage(confirm, order=event.key)

    await inbox.migrate()
    async with inbox.stores() as stores:
        await stores.inbox.record(deliveries(2, source="shop"))
        async with inbox.worker() as worker:
            await worker.drain()
        assert (await stores.ledger.counts())[EffectState.DONE] == 2
    tables = brought.DATABASES["memory:shop"].tables
    assert [args for _, args in tables.written] == [("evt_0000",), ("evt_0001",)]
    assert len(tables.receipts) == len(sent) == 2


class MemoryDesk:
    """A Desk over the skeleton. It has no SQL: what the parts of the suite below look at is answered from its lists."""

    def __init__(self, module: Any, target: str) -> None:
        self._module, self._target, self._clock = module, target, ManualClock()
        self.ledger = self._made(1)

    async def another(self) -> Ledger:
        return self._made(2)

    async def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def table(self, noun: str) -> str:
        return noun

    async def look(self, query: str) -> list[tuple[Any, ...]]:
        if "count" in query:
            return [(len(self._rows_of(query.rsplit(maxsplit=1)[-1])),)]
        return sorted(args for _, args in self._module.DATABASES[self._target].tables.written)

    async def change(self, statement: str) -> None:
        verb, _, noun, *values = statement.split(maxsplit=3)
        rows = self._rows_of(noun)
        if verb == "DELETE":
            rows.clear()
        else:
            rows.add(ast.literal_eval(values[0].removeprefix("VALUES ")))

    def _rows_of(self, noun: str) -> Any:
        tables = self._module.DATABASES[self._target].tables
        return {"receipt": tables.receipts, "effect": tables.effects, "effect_wait": tables.waits}[noun]

    def _made(self, seed: int) -> Ledger:
        make, named = drivers.ledger_driver("memory").make, "ledger (here)"
        return make(self._target, clock=self._clock, chance=SeededChance(seed), seal=None, concurrency=1, named=named)


class TestTheSkeleton(
    ReceiptConformance,
    ExpiryConformance,
    TombstoneConformance,
    ReplayConformance,
    MarkConformance,
    LaneStateConformance,
    EffectConformance,
    EffectGridConformance,
    StepConformance,
    ArrivalConformance,
    AuditConformance,
    EraseConformance,
):
    """Which would notice a how-to that misleads."""

    # These need a database: a constraint that refuses a COMMIT, a table that somebody changes, or reads.
    test_an_effect_of_a_rolled_back_transaction_is_never_there = None  # type: ignore[assignment]
    test_a_renamed_receipt_column_stops_everything_and_doubles_nothing = None  # type: ignore[assignment]
    test_a_ledger_that_cannot_be_asked_for_states_says_so = None  # type: ignore[assignment]
    test_who_comes_and_has_read_before_another_waited_frees_it = None  # type: ignore[assignment]

    @pytest.fixture
    async def desk(self, brought: Any, request: pytest.FixtureRequest) -> MemoryDesk:
        desk = MemoryDesk(brought, f"memory:{request.node.nodeid}")
        await desk.ledger.migrate()
        return desk

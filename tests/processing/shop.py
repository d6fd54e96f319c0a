"""A shop in one process: real inbox, real ledger, real worker, and time that the test moves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import asyncpg
import msgspec

from landfast.domain.backoff import Backoff
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId, HandlerName, InboxId, WorkerId, event_id
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord
from landfast.inboxes.postgres import PostgresInbox
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers import schema
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.processing.handlers.parameters import asked_by_step
from landfast.processing.handlers.registry import EffectHandler, Handler, Registry
from landfast.processing.worker import Worker
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from landfast.wakeups.local import LocalWakeup
from tests.patience import PATIENCE_SECONDS

STORES = ("sqlite", "postgres")


@dataclass
class Shop:
    store: str
    place: str
    """The folder of the SQLite files, or the DSN."""
    clock: ManualClock = field(default_factory=ManualClock)
    registry: Registry = field(default_factory=Registry)
    workers: int = 0
    masters: Sequence[bytes] = ()
    """Master keys, where what is stored is to be sealed."""

    async def open(self, *, create: bool = True) -> None:
        chance, seal = SeededChance(7), Seal(self.masters)
        if self.store == "sqlite":
            self.inbox: Any = SqliteInbox(Path(self.place) / "inbox.db", clock=self.clock, chance=chance, seal=seal)
        else:
            self.inbox = PostgresInbox(self.place, clock=self.clock, chance=chance, seal=seal)
        self.ledger: Any = self.another_ledger()
        for store in (self.inbox, self.ledger):
            await store.open()
            await store.migrate()
        self.inbox_id: InboxId = await self.inbox.identity()
        if create:
            number = "GENERATED ALWAYS AS IDENTITY" if self.store == "postgres" else "PRIMARY KEY"
            await self.sql(f"CREATE TABLE orders (id INTEGER {number}, key TEXT, amount INTEGER)")

    async def close(self) -> None:
        await self.inbox.close()
        await self.ledger.close()

    def another_ledger(self) -> Any:
        chance, seal = SeededChance(9), Seal(self.masters)
        if self.store == "sqlite":
            return SqliteLedger(Path(self.place) / "ledger.db", clock=self.clock, chance=chance, seal=seal)
        return PostgresLedger(self.place, clock=self.clock, chance=chance, pool=8, seal=seal)

    def on(self, pattern: str = "*", *, source: str = "stripe", **options: Any) -> Callable[..., Any]:
        given: dict[str, Any] = {
            "attempts": 3,
            "backoff": Backoff(),
            "deadline": PATIENCE_SECONDS,
            "isolation": None,
            "group": True,
        }

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            name = HandlerName(options.pop("name", function.__name__))
            self.registry.add_handler(
                Handler(name=name, source=source, pattern=pattern, function=function, **(given | options))
            )
            return function

        return register

    def effect(
        self, function: Callable[..., Any], *, attempts: int = 3, uses: tuple[str, ...] = ()
    ) -> Callable[..., Any]:
        name = function.__name__
        self.registry.add_effect(
            EffectHandler(
                name=name,
                function=function,
                attempts=attempts,
                backoff=Backoff(),
                deadline=PATIENCE_SECONDS,
                asked=asked_by_step(function, {}),
                uses=uses,
            )
        )
        function.__landfast_effect__ = name  # type: ignore[attr-defined]
        return function

    async def deliver(self, *keys: str, type_: str = "order.created", body: bytes | None = None) -> list[EventId]:
        deliveries = [
            Delivery.of(
                "stripe",
                Identity(key, type_, entity=f"cus_{number % 5}"),
                received_at=self.clock.now() + timedelta(microseconds=number),
                headers=b'[["content-type","application/json"]]',
                body=msgspec.json.encode({"id": key, "amount": 8999}) if body is None else body,
            )
            for number, key in enumerate(keys)
        ]
        recorded = await self.inbox.record(sorted(deliveries, key=lambda delivery: delivery.event_id))
        return [one.event_id for one in recorded]

    def worker(self, **options: Any) -> Worker:
        self.workers += 1
        given: dict[str, Any] = {
            "hands": 1 if self.store == "sqlite" else 4,
            "lease": 30.0,
            "wakeup": LocalWakeup(),
            "bench": self.inbox,
            "ledger": self.ledger,
            "effects": self.ledger,
            "worker": WorkerId(self.workers.to_bytes(8, "big")),
        }
        return Worker(
            registry=self.registry,
            clock=self.clock,
            chance=SeededChance(self.workers),
            inbox=self.inbox_id,
            **(given | options),
        )

    def twin(self) -> Self:
        """Another process on another machine, with the same code and the same databases; not opened yet."""
        return replace(self, workers=self.workers + 100)

    async def drain(self) -> None:
        await self.worker().drain()

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if self.store == "postgres":
            shift = f"interval '{self.clock.monotonic()} seconds'"
            for name in ("landfast.clock", "landfast_ledger.clock"):
                await self.sql(
                    f"CREATE OR REPLACE FUNCTION {name}() RETURNS timestamptz LANGUAGE sql STABLE "
                    f"AS $$ SELECT clock_timestamp() + {shift} $$"
                )

    async def settle_down(self, *, rounds: int = 40) -> None:
        """Drain, and let the time pass that delayed events wait for, until nothing is left to do."""
        for _ in range(rounds):
            await self.drain()
            census = await self.inbox.census()
            if not sum(census.states.get(state, 0) for state in (State.READY, State.CLAIMED, State.DELAYED)):
                return
            await self.advance(4000)
        raise AssertionError(f"still not quiet: {census.states}")

    def table(self, noun: str) -> str:
        """What the ledger's table of receipts, say, is called."""
        return schema.beside_others(noun) if self.store == "sqlite" else schema.in_schema(noun)

    async def sql(self, query: str, *args: Any) -> Sequence[Any]:
        """On the ledger's database, beside Landfast."""
        if self.store == "sqlite":
            with closing(sqlite3.connect(Path(self.place) / "ledger.db", isolation_level=None)) as connection:
                return connection.execute(query, {str(n): arg for n, arg in enumerate(args, 1)}).fetchall()
        session = await asyncpg.connect(self.place)
        try:
            rows: Sequence[Any] = await session.fetch(query, *args)
            return rows
        finally:
            await session.close()

    async def orders(self) -> list[str]:
        return [row[0] for row in await self.sql("SELECT key FROM orders ORDER BY key")]

    async def show(self, key: str) -> EventRecord:
        record: EventRecord | None = await self.inbox.show(event_id("stripe", key))
        assert record is not None, f"{key} is not stored"
        return record

    async def state(self, key: str) -> State:
        return (await self.show(key)).summary.state

    async def states(self) -> dict[State, int]:
        census = await self.inbox.census()
        return {state: count for state, count in census.states.items() if count}

    async def orders_are(self, keys: Sequence[str]) -> bool:
        return await self.orders() == sorted(keys)

    async def is_done(self, count: int) -> bool:
        return await self.states() == {State.DONE: count}

    async def state_is(self, key: str, state: State) -> bool:
        return await self.state(key) is state

    async def dead(self) -> Sequence[Any]:
        found: Sequence[Any] = await self.inbox.find(Filter(state=State.DEAD), limit=1000)
        return found

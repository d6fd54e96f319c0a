"""A shop with a spool under load, and a checker for what became of every delivery."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from landfast.app import Inbox
from landfast.demo.load import Connection
from landfast.demo.servers import Serve
from landfast.domain.ids import event_id, receipt_digest
from landfast.domain.lifecycle import State
from landfast.recovery.proof import prove
from tests.crash.checker import Books, Stored, check
from tests.crash.history import History, Line, unknown
from tests.journals.spools import listing
from tests.patience import PATIENCE_SECONDS, Stopwatch
from tests.proxy import Proxy
from tests.shops import Shop

HANDLER = "create_order"
SENDERS = 6
PATIENCE = PATIENCE_SECONDS
"""Seconds until everything has come to rest again."""


def with_spool(shop: Shop, **settings: str) -> Path:
    """The shop's spool, wherever the tests' folder is."""
    folder = shop.folder / "spool"
    shop.settings |= {"LANDFAST_SPOOL": str(folder), "LANDFAST_SPOOL_ANYWHERE": "true", **settings}
    shop.settings["LANDFAST_LEASE"] = "2"  # what a worker had in hand when its database went is claimed again soon
    return folder


@dataclass(slots=True)
class Load:
    """Senders that do not stop, and what they were told."""

    shop: Shop
    port: int
    history: History
    statuses: Counter[int | None] = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)
    watch: Stopwatch = field(default_factory=Stopwatch)
    slowest: float = 0.0
    padding: int = 0
    """Bytes that make a body larger."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Load]:
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as senders:
            for number in range(SENDERS):
                senders.create_task(self._send_on(f"evt_{number}", stop))
            try:
                yield self
            finally:
                stop.set()

    async def more(self, count: int) -> None:
        """Until so many more were acknowledged."""
        wanted = len(self.acknowledged) + count
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.acknowledged) < wanted:
                await asyncio.sleep(0.02)

    async def send(self, connection: Connection, key: str) -> int | None:
        body = self.shop.sender.payment(key, padding="x" * self.padding)
        line = Line("deliver", "invoke", key, 0, id=self.history.new_id(), sha=_sha(body))
        self.history.write(line)
        began = self.watch.seconds
        status = await connection.send(self.shop.sender.delivery(body))
        self.slowest = max(self.slowest, self.watch.seconds - began)
        self.statuses[status] += 1
        if status is not None:
            self.history.write(Line("deliver", "ok" if status == 200 else "fail", key, 0, id=line.id))
        if status == 200:
            self.acknowledged.append(key)
        return status

    async def _send_on(self, prefix: str, stop: asyncio.Event) -> None:
        connection, number = Connection(self.port), 0
        try:
            while not stop.is_set():
                number += 1
                await self.send(connection, f"{prefix}_{number}")
                await asyncio.sleep(0.02)  # enough to fill some batches, and no benchmark
        finally:
            connection.close()


@asynccontextmanager
async def load(shop: Shop, serve: Serve) -> AsyncIterator[Load]:
    history = History(shop.folder / "history")
    try:
        found = Load(shop, serve.port, history)
        with found.watch:
            yield found
    finally:
        history.close()


async def drained(shop: Shop, spool: Path) -> None:
    """Until the spool is empty and every event has ended. After a long outage a worker looks again only now and then."""
    async with asyncio.timeout(PATIENCE):
        while listing(spool) or await _unfinished(shop):
            await asyncio.sleep(0.05)


async def _unfinished(shop: Shop) -> int:
    async with shop.archive() as archive:
        states = (await archive.census()).states
    return sum(count for state, count in states.items() if state not in (State.DONE, State.DEAD))


async def problems(shop: Shop, history: History) -> list[str]:
    """What the invariants of ARCHITECTURE.md forbid and happened; after the processes have stopped."""
    for line in unknown(history.read()):
        history.write(line)
    lines = history.read()
    keys = sorted({line.key for line in lines if line.op == "deliver"})
    (shop.folder / "none.toml").touch()
    inbox = Inbox(shop.folder / "none.toml", store=shop.store, ledger=shop.ledger)
    books = Books()
    async with inbox.stores() as stores:
        for key in keys:
            record = await stores.inbox.show(event_id("stripe", key))
            if record is not None:
                summary = record.summary
                history_of = tuple((each.signal, each.state, each.run) for each in record.history)
                books.events[key] = Stored(_sha(record.body), summary.state, summary.run, (HANDLER,), history_of)
        digests = {receipt_digest(stores.identity, "stripe", key): key for key in keys}
        for receipt in await stores.ledger.receipts(list(digests)):
            books.receipts[digests[receipt.key.digest], receipt.key.handler, receipt.key.run] = receipt.outcome
        proof = await prove(stores.inbox, stores.ledger, clock=inbox.clock, chance=inbox.chance)
    books.writes = Counter((key, HANDLER, 1) for key in await shop.orders())
    found = check(lines, books)
    if not proof.holds:
        found.append(f"I10: lost {proof.lost}, {[f'{each} {each.note}' for each in proof.equations if not each.holds]}")
    return found


def descriptors(pid: int) -> list[str]:
    """What a process has open."""
    folder = Path(f"/proc/{pid}/fd")
    found = []
    for path in folder.iterdir():
        try:
            found.append(str(path.readlink()))
        except FileNotFoundError:
            continue  # closed since
    return found


async def last(seconds: float) -> None:
    """A fault that lasts so long: what is waited for is the time itself."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        await asyncio.sleep(0.02)


class SlowProxy(Proxy):
    """Passes everything on, but answers take their time."""

    delay = 0.0
    delayed = 0

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said := await reader.read(65536):
            if self.delay:
                self.delayed += 1
                await last(self.delay)
            writer.write(said)
            await writer.drain()
        writer.close()


def _sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()

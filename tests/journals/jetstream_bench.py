"""A stream of its own for a test, on a server that tests share, and an inbox to drain it into."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import nats

from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import InboxUnavailableError, RowRefusedError
from landfast.domain.ids import InboxId
from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.durability.drain import Drainer
from landfast.journals.jetstream import JetStreamJournal
from landfast.journals.jetstream_backlog import JetStreamBacklog
from landfast.testing.clock import ManualClock, SeededChance
from tests.nats import Nats
from tests.patience import PATIENCE_SECONDS

INBOX = InboxId(bytes(range(16)))
MAC_KEY = bytes(range(32))
SYNCED = "?sync=always"
ANSWER_SECONDS = 5.0
"""For whoever asks again: while a stream has no leader, what it was asked is never answered."""


class Elsewhere:
    """The inbox, as far as a journal needs it: a list. It refuses what it is told to, and is away when it is told."""

    def __init__(self, *, refuses: bytes | None = None) -> None:
        self.rows: dict[bytes, Delivery] = {}
        self.times: list[bytes] = []
        self.refuses = refuses
        self.is_away = False

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        if self.is_away:
            raise InboxUnavailableError("away")
        if self.refuses and any(self.refuses in delivery.body for delivery in deliveries):
            raise RowRefusedError("a row")
        return [self._insert(delivery) for delivery in deliveries]

    def _insert(self, delivery: Delivery) -> Recorded:
        is_new = delivery.event_id not in self.rows
        self.rows.setdefault(delivery.event_id, delivery)
        self.times.append(delivery.event_id)
        return Recorded(delivery.event_id, is_new)

    @property
    def keys(self) -> list[str]:
        return sorted(delivery.key for delivery in self.rows.values())


@dataclass
class Bench:
    server: Nats
    name: str = field(default_factory=lambda: f"test-{uuid4().hex[:8]}")
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    clock: ManualClock = field(default_factory=ManualClock)
    _open: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def target(self) -> str:
        return f"{self.server.url}/{self.name}{SYNCED}"

    async def journal(self, *, target: str | None = None, inbox: InboxId = INBOX) -> JetStreamJournal:
        journal = JetStreamJournal(target or self.target, inbox=inbox, mac_key=MAC_KEY, otherwise=self.elsewhere)
        self._open.push_async_callback(journal.close)
        await journal.open()
        return journal

    async def backlog(
        self, *, target: str | None = None, start: int = 0, offered_again_after: float = 30.0
    ) -> JetStreamBacklog:
        backlog = JetStreamBacklog(
            target or self.target,
            inbox=INBOX,
            mac_key=MAC_KEY,
            start=start,
            offered_again_after=offered_again_after,
        )
        self._open.push_async_callback(backlog.close)
        await backlog.open()
        return backlog

    def drainer(self, backlog: JetStreamBacklog, **more: Any) -> Drainer:
        return Drainer(backlog, self.elsewhere, clock=self.clock, hurries=True, **more)

    async def api(self, subject: str, body: object = None, *, patience: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """As an operator would: over a connection of their own."""
        client = await nats.connect(self.server.url)
        try:
            asked = json.dumps(body).encode() if body else b""
            answer = await client.request(f"$JS.API.{subject}", asked, timeout=patience)
            found: dict[str, Any] = json.loads(answer.data)
            return found
        finally:
            await client.close()

    async def make_stream(self, **settings: Any) -> None:
        usual = {
            "name": self.name,
            "subjects": [f"landfast.{self.name}.*"],
            "storage": "file",
            "retention": "workqueue",
            "discard": "new",
        }
        made = await self.api(f"STREAM.CREATE.{self.name}", usual | settings)
        assert "error" not in made, made

    async def delete_stream(self) -> None:
        assert (await self.api(f"STREAM.DELETE.{self.name}"))["success"]

    async def messages(self) -> int:
        """In the stream now; -1 when there is none."""
        found = await self.api(f"STREAM.INFO.{self.name}")
        return int(found["state"]["messages"]) if "state" in found else -1

    async def publish(self, body: bytes, *, lane: str = "0", headers: dict[str, str] | None = None) -> None:
        """Not one of ours, unless the headers prove it."""
        client = await nats.connect(self.server.url)
        try:
            await client.jetstream().publish(f"landfast.{self.name}.{lane}", body, headers=headers)
        finally:
            await client.close()

    async def close(self) -> None:
        await self._open.aclose()


async def drained(bench: Bench, drainer: Drainer) -> None:
    """Step until the stream holds nothing that is to be drained."""

    async def step() -> bool:
        await drainer.step()
        return await bench.messages() == 0

    await until(step)


async def until(look: Callable[[], Awaitable[object]]) -> None:
    """Poll, because a server is at work."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await look():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def sqlite_inbox(path: Path) -> AsyncIterator[SqliteInbox]:
    inbox = SqliteInbox(path, clock=ManualClock(), chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    try:
        yield inbox
    finally:
        await inbox.close()

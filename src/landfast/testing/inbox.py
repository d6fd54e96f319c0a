"""An inbox in a test: the real code on temporary SQLite files, with a sender and a worker in your hands."""

from __future__ import annotations

import copy
import json
import math
import sqlite3
import tempfile
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from landfast.app import Inbox
from landfast.app.sources import profile_of
from landfast.app.stores import Stores
from landfast.app.system_clock import SystemClock
from landfast.config import Address, SecretSettings
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.errors import SenderError, UserError
from landfast.intake.answers import answer_to
from landfast.intake.receive import Intake
from landfast.ports import inbox as ports
from landfast.processing.worker import Worker
from landfast.providers.signing import sample, signed_request
from landfast.testing.sender_secrets import Pair, pair_for


@dataclass(frozen=True, slots=True)
class Delivered:
    """What the sender was told."""

    status: int
    """Of the HTTP answer."""
    body: dict[str, Any]
    """Its JSON; `{"text": ...}` for a sender that wants to read a word of its own."""

    @property
    def is_new(self) -> bool:
        """False for a duplicate, and for what was refused."""
        return self.body.get("status") == "stored"

    @property
    def event(self) -> str | None:
        """The event's id, for `landfast events show` and for `TestInbox.archive`."""
        return self.body.get("event")


class TestInbox:
    """`async with TestInbox(inbox) as t: await t.deliver("stripe", type="payment_intent.succeeded"); await t.drain()`

    Handlers, effects and sources are those of your inbox; the stores are temporary, and every source is signed with a
    test secret, so no environment is needed. Your inbox itself is not changed.
    """

    __test__ = False  # pytest: this is no test

    ledger: sqlite3.Connection
    """The ledger's file, where your handlers write: create your tables and look at them here."""
    archive: ports.Inbox
    """The inbox as operators see it."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._clock = _ShiftedClock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="landfast-test-")))
            self._copy = inbox = self._temporary(folder)
            await inbox.migrate()
            self.ledger = sqlite3.connect(folder / "ledger.db", isolation_level=None)
            self.ledger.row_factory = sqlite3.Row
            stack.callback(self.ledger.close)
            self.archive = await stack.enter_async_context(inbox.archive())
            self._intake: Intake = await stack.enter_async_context(inbox.intake())
            self._worker: Worker = await stack.enter_async_context(inbox.worker())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def deliver(
        self,
        source: str,
        body: bytes | dict[str, Any] | None = None,
        *,
        type: str | None = None,  # noqa: A002 - the word that senders use
        id: str | None = None,  # noqa: A002 - same
    ) -> Delivered:
        """Sign a request as the source's provider would, and take it in; without a body, the provider's sample of this
        type. `type` and `id` of a body of your own matter where the provider has them in headers."""
        settings = self._copy.sources.get(source)
        if settings is None:
            raise UserError(f"deliver: there is no source {source!r}")
        profile, now = profile_of(settings), self._clock.now().timestamp()
        # A time in a sample is always the same, so that the same id is the same bytes; unless that time is checked.
        times = {"now": now} if profile.signed_at_place else {}
        content = _bytes(body) if body is not None else sample(profile, type, id=id, **times)
        key = self._pairs[source].signing
        signed = signed_request(profile, content, key, now=now, id=id, type=type, url=settings.public_url)
        head = signed.head()
        request = Head(signed.method, f"/in/{source}", head.query, head.headers, len(signed.body))
        answer = await self._take_in(request, signed.body)
        return Delivered(answer.status, _told(answer.body))

    async def drain(self) -> None:
        """Process everything that is runnable now, effects too. What is to be tried again later waits for `advance`."""
        await self._worker.drain()

    def stores(self) -> AbstractAsyncContextManager[Stores]:
        """The inbox and its ledger as Landfast sees them, opened anew."""
        return self._copy.stores()

    def advance(self, seconds: float) -> None:
        """Let time pass, so that retries fall due."""
        self._clock.offset += timedelta(seconds=seconds)

    def _temporary(self, folder: Path) -> Inbox:
        inbox = copy.copy(self._inbox)
        store, ledger = Address(str(folder / "inbox.db")), Address(str(folder / "ledger.db"))
        inbox.settings = replace(
            inbox.settings,
            store=store,
            ledger=ledger,
            concurrency=1,
            workers=1,
            # Nothing of the real one's surroundings.
            redis=None,
            journal=None,
            spool=None,
            # Samples, and what was recorded once, happened long ago: nothing is held for that here.
            dedup_memory=math.inf,
        )
        self._pairs: dict[str, Pair] = {}
        inbox.sources = {}
        for name, source in self._inbox.sources.items():
            self._pairs[name] = pair = pair_for(profile_of(source), url=source.public_url)
            secrets = tuple(SecretSettings(value=text) for text in pair.secrets)
            inbox.sources[name] = replace(source, secrets=secrets)
        inbox.clock = self._clock
        return inbox

    async def _take_in(self, head: Head, body: bytes) -> Answer:
        try:
            admitted = self._intake.admit(head)
        except SenderError as error:
            return answer_to(error)
        return await self._intake.respond(admitted, body)


class _ShiftedClock(SystemClock):
    """The real clock, ahead by what the test has let pass."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset

    def monotonic(self) -> float:
        return super().monotonic() + self.offset.total_seconds()


def _bytes(body: bytes | dict[str, Any]) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


def _told(body: bytes) -> dict[str, Any]:
    """What the answer says; some senders want to read a word of their own instead of JSON."""
    try:
        told: dict[str, Any] = json.loads(body)
    except ValueError:
        return {"text": body.decode()}
    return told

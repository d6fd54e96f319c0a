"""An inbox in a test: the real code on temporary SQLite files, with a sender and a worker in your hands."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from landfast.app import Inbox
from landfast.app.stores import Stores
from landfast.config import Address
from landfast.domain.errors import UserError
from landfast.intake.receive import Intake
from landfast.ports import inbox as ports
from landfast.testing.calling import call, call_request, endpoint_named
from landfast.testing.draining import Draining
from landfast.testing.reports import Called, Delivered, Failure
from landfast.testing.requests import signed, take_in
from landfast.testing.temporary import ShiftedClock, temporary
from landfast.testing.witness import Witness, raise_first

__all__ = ["Delivered", "TestInbox"]


class TestInbox:
    """`async with TestInbox(inbox) as t: await t.deliver("stripe", type="payment_intent.succeeded"); await t.drain()`

    Handlers, effects and sources are those of your inbox; the stores are temporary, and every source is signed with a
    test secret, so no environment is needed. Your inbox itself is not changed. In pytest, the fixtures `inbox` and
    `async_inbox` do more.
    """

    __test__ = False  # pytest: this is no test

    ledger: sqlite3.Connection
    """The ledger's file, where your handlers write: create your tables and look at them here."""
    archive: ports.Inbox
    """The inbox as operators see it."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._clock = ShiftedClock()
        self._witness = Witness()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="landfast-test-")))
            ledger = Address(str(folder / "ledger.db"))
            self._copy, self._pairs = temporary(self._inbox, folder, self._clock, ledger=ledger)
            self._copy.registry = self._witness.registry(self._inbox.registry)
            await self._copy.migrate()
            self.ledger = sqlite3.connect(folder / "ledger.db", isolation_level=None)
            self.ledger.row_factory = sqlite3.Row
            stack.callback(self.ledger.close)
            self.archive = await stack.enter_async_context(self._copy.archive())
            self._intake: Intake = await stack.enter_async_context(self._copy.intake())
            lifespans = self._inbox._lifespans  # noqa: SLF001 - those of the user's inbox run here, too
            self._draining = Draining(self._copy, self._witness, lifespans)
            self._stores = await stack.enter_async_context(self._draining.stores())
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
        now = self._clock.now()
        return await take_in(self._intake, signed(settings, self._pairs[source], now=now, body=body, type=type, id=id))

    async def call(self, endpoint: str, body: Any = None, *, key: str, raises: bool = True) -> Called:
        """Call an endpoint, by its name or its path, under this key, with a body that is JSON, or with these bytes; its
        stored answer. What has to run for it runs as by `drain`."""
        __tracebackhide__ = True
        settings = endpoint_named(self._copy.sources, endpoint)
        pair = self._pairs[settings.name]
        return await call(
            self._intake,
            lambda: call_request(settings, pair, now=self._clock.now(), body=body, key=key),
            lambda: self.drain(raises=raises),
        )

    async def drain(self, *, raises: bool = True) -> None:
        """Process everything that is runnable now, effects too, and raise what a handler or an effect raised. What is
        to be tried again later waits for `advance`. `raises=False` leaves it at `errors`."""
        __tracebackhide__ = True
        before = len(self.errors)
        await self._draining.drain(self._stores, effects=True)
        if raises:
            raise_first(self.errors[before:])

    @property
    def errors(self) -> Sequence[Failure]:
        """Every failed attempt so far, oldest first, also those that `drain` has raised."""
        return tuple(self._witness.failures)

    def stores(self) -> AbstractAsyncContextManager[Stores]:
        """The inbox and its ledger as Landfast sees them, opened anew."""
        return self._copy.stores()

    def advance(self, seconds: float) -> None:
        """Let time pass, so that retries fall due."""
        self._clock.offset += timedelta(seconds=seconds)

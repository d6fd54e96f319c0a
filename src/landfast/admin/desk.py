"""What every question and every command is given: the inbox as operators see it, opened once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

from landfast.admin.live import Live
from landfast.admin.shown_filter import by_what_is_shown
from landfast.app import Inbox
from landfast.app.stores import Stores, bind
from landfast.domain.errors import InboxUnavailableError, LedgerUnavailableError, UserError
from landfast.domain.filter import Filter
from landfast.domain.redaction import Redaction
from landfast.ports import inbox as ports


class Desk:
    """`inbox` is the application: settings, sources, handlers. `archive` is its database."""

    def __init__(self, inbox: Inbox, reload: Callable[[], None] | None = None) -> None:
        self.inbox = inbox
        self.reload = reload
        """Has the server around us read its settings anew; None where there is none, or it is not ours."""
        self.redaction = Redaction(inbox.settings.redact)
        self._archive: ports.Inbox | None = None
        self._stores: Stores | None = None
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self.live = Live(inbox.clock)

    @property
    def archive(self) -> ports.Inbox:
        if self._archive is None:
            raise InboxUnavailableError("the inbox is not open")
        return self._archive

    def now(self) -> datetime:
        return self.inbox.clock.now()

    def shown(self, wanted: Filter) -> Filter:
        """The filter as whoever asks here may use it."""
        return by_what_is_shown(wanted, self.redaction)

    async def open(self) -> None:
        """Safe again and again: an inbox that was away when this process started is opened once it is there. StoreError
        until then."""
        if self._archive is not None:
            return
        async with self._opening:
            if self._archive is None:
                try:
                    self._archive = await self._stack.enter_async_context(self.inbox.archive())
                except UserError as error:  # no fault of whoever asks
                    raise InboxUnavailableError(str(error)) from error

    async def stores(self) -> Stores:
        """The inbox and its ledger, which is opened when the first one asks for it: many pages need none. StoreError
        where it is away."""
        await self.open()
        if self._stores is None:
            async with self._opening:
                try:
                    self._stores = self._stores or await self._with_ledger()
                except UserError as error:
                    raise LedgerUnavailableError(str(error)) from error
        return self._stores

    async def _with_ledger(self) -> Stores:
        async with AsyncExitStack() as stack:
            ledger = await stack.enter_async_context(self.inbox.ledger())
            identity = await bind(self.archive, ledger, self.inbox.settings)
            self._stack.push_async_exit(stack.pop_all())
        return Stores(self.archive, ledger, identity)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """What goes on beside the pages, until it is over or the desk is closed."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Safe twice."""
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._archive = self._stores = None
        await self._stack.aclose()

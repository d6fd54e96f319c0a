"""An Inbox as operators open it: its databases alone, its metrics, its handlers under proof."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from landfast.config import Settings
from landfast.ports.clock import Chance, Clock
from landfast.processing.handlers.registry import Registry

if TYPE_CHECKING:  # imported when they are used: a host that declares its handlers should not wait for all of Landfast
    from landfast.app.inbox import Inbox
    from landfast.app.metrics import Metrics
    from landfast.app.prove import Given
    from landfast.app.stores import Stores
    from landfast.ports import inbox as ports
    from landfast.ports.ledger import Ledger
    from landfast.proving import Report


class KeptOpen:
    """One that could not be opened is tried again by the next who asks."""

    def __init__(self, opened: Opened, stack: AsyncExitStack) -> None:
        self._opened = opened
        self._stack = stack
        self._archive: ports.Inbox | None = None
        self._ledger: Ledger | None = None

    @asynccontextmanager
    async def archive(self) -> AsyncIterator[ports.Inbox]:
        if self._archive is None:
            self._archive = await self._stack.enter_async_context(self._opened.archive())
        yield self._archive

    @asynccontextmanager
    async def ledger(self) -> AsyncIterator[Ledger]:
        if self._ledger is None:
            self._ledger = await self._stack.enter_async_context(self._opened.ledger())
        yield self._ledger


class Opened:
    settings: Settings
    registry: Registry
    clock: Clock
    chance: Chance

    _kept: KeptOpen | None = None

    def archive(self) -> AbstractAsyncContextManager[ports.Inbox]:
        """Open the inbox alone, as operators see it. Nothing is migrated."""
        from landfast.app import stores

        if self._kept is not None:
            return self._kept.archive()
        return stores.open_inbox(self.settings, self.clock, self.chance, migrate=False)

    def ledger(self) -> AbstractAsyncContextManager[Ledger]:
        """Open the ledger alone, whichever inbox it belongs to. Nothing is migrated."""
        from landfast.app import stores

        if self._kept is not None:
            return self._kept.ledger()
        return stores.open_ledger(self.settings, self.clock, self.chance, migrate=False)

    @asynccontextmanager
    async def kept_open(self) -> AsyncIterator[Self]:
        """The same, whose `archive` and `ledger` are opened when they are asked for first, and closed at the end: for
        who asks for them again and again."""
        async with AsyncExitStack() as stack:
            kept = copy(self)
            kept._kept = KeptOpen(self, stack)  # noqa: SLF001 - a copy of our own
            yield kept

    def stores(self) -> AbstractAsyncContextManager[Stores]:
        """Open the inbox and its ledger. Nothing is migrated."""
        from landfast.app import stores

        return stores.open_stores(self.settings, self.clock, self.chance, migrate=False)

    async def migrate(self) -> Sequence[str]:
        """Bring both databases up to date and bind them; the names of what was applied."""
        from landfast.app import stores

        return await stores.migrate_both(self.settings, self.clock, self.chance)

    def prove(self, handler: str | Callable[..., Any], sample: Given = None, *, schema: str | None = None) -> Report:
        """Run a handler alone, twice, at the same time, and with a crash at each of its statements, on a copy of the
        ledger's database, and compare what it leaves: `assert not inbox.prove(create_order).findings` in a test.
        `sample` is a body as the sender sends it; without one, the provider's. `schema` is SQL that makes the tables
        in the copy, where they cannot be copied."""
        from landfast.app.prove import prove_one, subject_of

        return prove_one(subject_of(cast("Inbox", self)), handler, sample, schema)

    def admin(self) -> Any:
        """The admin API and its pages as an ASGI application, to be mounted in yours. Whoever asks needs a token, which
        `landfast tokens create` makes. `landfast serve` needs none of this: it has a process for it."""
        # By name: the admin API is above the application, which it is given here.
        return import_module("landfast.admin.app").make_app(self)

    def metrics(self, folder: Path | str | None = None) -> Metrics:
        """What `/metrics` says, for Prometheus: mount its `asgi` or `wsgi` where no stranger can reach it. Of a server
        with several processes, any of which may be asked, all count in the same empty `folder`. `landfast serve` needs
        none: it answers for its processes where `metrics_port` says."""
        from landfast.app.metrics import Metrics
        from landfast.telemetry.page_folder import PageFolder

        metrics = Metrics(self.archive, self.registry.breakers)
        return metrics if folder is None else metrics.over(PageFolder(folder).sums)

"""What a handler writes on: the ledger's own transaction, and a place to stage effects. It cannot be committed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from landfast.domain.effect import StagedEffect
from landfast.domain.errors import UserError
from landfast.domain.event import Event
from landfast.domain.ids import effect_key
from landfast.domain.json_limits import excess
from landfast.domain.outcome import ReceiptKey
from landfast.ports import ledger as port
from landfast.processing.handlers.error_text import text_of
from landfast.processing.handlers.registry import EffectHandler, Registry

T = TypeVar("T")

STAGED_EFFECTS_AT_MOST = 10_000
"""Effects of one event. More is a loop that went wrong, and would hold the ledger's transaction for seconds."""


class Stage:
    """Effects that one handler stages for one event: rows in its transaction, if and when it commits."""

    def __init__(self, registry: Registry, receipt: ReceiptKey, event: Event) -> None:
        self._registry = registry
        self._receipt = receipt
        self._event = event
        self.staged: dict[str, StagedEffect] = {}

    def add(self, effect: str | Callable[..., Any], named: str | None, arguments: dict[str, Any]) -> str:
        known = self._find(effect)
        try:
            inspect.signature(known.function).bind(None, **arguments)
        except TypeError as error:
            raise UserError(f"stage({known.name}): the arguments do not fit the effect: {error}") from None
        digest, handler, run = self._receipt
        key = effect_key(digest, handler, f"{known.name}:{named}" if named else known.name)
        if key in self.staged:
            again = f"named {named!r} " if named else ""
            raise UserError(f"stage({known.name}): {again}is staged twice for this event; give each its own named=")
        if len(self.staged) >= STAGED_EFFECTS_AT_MOST:
            raise UserError(f"stage({known.name}): an event may stage at most {STAGED_EFFECTS_AT_MOST} effects")
        try:
            encoded = msgspec.json.encode(arguments)
        except Exception as error:  # noqa: BLE001 - RecursionError, or whatever a value's own class raises
            raise UserError(f"stage({known.name}): the arguments must be JSON: {text_of(error)}") from None
        if what := excess(encoded):
            raise UserError(f"stage({known.name}): the argument {what}; pass ids")
        self.staged[key] = StagedEffect(
            key=key,
            run=run,
            digest=digest,
            handler=handler,
            name=known.name,
            arguments=encoded,
            context=self._context(),
        )
        return key

    def _context(self) -> bytes:
        event = self._event
        return msgspec.json.encode({"id": event.id, "source": event.source, "key": event.key, "type": event.type})

    def _find(self, effect: str | Callable[..., Any]) -> EffectHandler:
        name = effect if isinstance(effect, str) else getattr(effect, "__landfast_effect__", None)
        known = self._registry.effects.get(name) if isinstance(name, str) else None
        if known is None:
            shown = effect if isinstance(effect, str) else getattr(effect, "__name__", repr(effect))
            raise UserError(f"stage({shown}): no such effect; register it with @inbox.effect")
        return known


class Transaction:
    """The transaction of an `async def` handler, in asyncpg's shape on every ledger: `await` each call, and write $1,
    $2 for arguments on SQLite, too. Landfast commits it, with the receipt, when the handler returns."""

    def __init__(self, handle: port.Transaction, stage: Stage) -> None:
        self._handle = handle
        self._stage = stage
        self._asked: list[tuple[str, Coroutine[Any, Any, Any]]] = []

    def check_awaited(self) -> None:
        """A write that was never awaited never happened: better a failed attempt than a receipt for nothing."""
        forgotten = [
            (name, statement)
            for name, statement in self._asked
            if inspect.getcoroutinestate(statement) == inspect.CORO_CREATED
        ]
        for _, statement in forgotten:
            statement.close()
        for name, _ in forgotten:
            raise UserError(f"tx.{name}(...) was not awaited, so it did not run; write `await` before it")

    @property
    def connection(self) -> Any:
        """The driver's own connection, for a library that wants one. COMMIT or ROLLBACK on it fails the attempt."""
        return self._handle.connection

    def execute(self, query: str, *args: Any) -> Awaitable[str]:
        """Run one statement; what the database says of it, such as `INSERT 0 1`."""
        return self._ask("execute", self._handle.execute(query, *args))

    def fetch(self, query: str, *args: Any) -> Awaitable[Sequence[Any]]:
        """All rows; their columns by name or by number."""
        return self._ask("fetch", self._handle.fetch(query, *args))

    def fetchrow(self, query: str, *args: Any) -> Awaitable[Any]:
        """The first row, or None."""
        return self._ask("fetchrow", self._handle.fetchrow(query, *args))

    def fetchval(self, query: str, *args: Any) -> Awaitable[Any]:
        """The first column of the first row, or None."""
        return self._ask("fetchval", self._handle.fetchval(query, *args))

    def savepoint(self) -> Any:
        """`async with tx.savepoint():` around statements whose database errors you want to catch: without it such an
        error loses the whole transaction on PostgreSQL, and the attempt fails."""
        return self._handle.savepoint()

    def stage(self, effect: str | Callable[..., Any], *, named: str | None = None, **arguments: Any) -> str:
        """Record an effect to be performed after the COMMIT; its idempotency key. The arguments must be JSON, so pass
        ids. One effect that is staged more than once for an event needs a `named` for each."""
        return self._stage.add(effect, named, arguments)

    def _ask(self, name: str, statement: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        # What has ended is forgotten: a handler may run a million of them, one after the other.
        while self._asked and inspect.getcoroutinestate(self._asked[-1][1]) == inspect.CORO_CLOSED:
            self._asked.pop()
        self._asked.append((name, statement))
        return statement


class BlockingTransaction:
    """The transaction of a `def` handler, which runs in a thread: as `Transaction`, but nothing is awaited. Every call
    waits for the event loop to do the work."""

    def __init__(self, handle: port.Transaction, stage: Stage) -> None:
        self._handle = handle
        self._stage = stage
        self._loop = asyncio.get_running_loop()

    def check_awaited(self) -> None:
        """Every call has waited for its statement."""

    @property
    def connection(self) -> Any:
        """The driver's own connection. It belongs to the event loop's thread: use the calls below instead."""
        return self._handle.connection

    def execute(self, query: str, *args: Any) -> str:
        """Run one statement; what the database says of it, such as `INSERT 0 1`."""
        return self._wait(self._handle.execute(query, *args))

    def fetch(self, query: str, *args: Any) -> Sequence[Any]:
        """All rows; their columns by name or by number."""
        return self._wait(self._handle.fetch(query, *args))

    def fetchrow(self, query: str, *args: Any) -> Any:
        """The first row, or None."""
        return self._wait(self._handle.fetchrow(query, *args))

    def fetchval(self, query: str, *args: Any) -> Any:
        """The first column of the first row, or None."""
        return self._wait(self._handle.fetchval(query, *args))

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """`with tx.savepoint():` around statements whose database errors you want to catch."""
        inner = self._handle.savepoint()
        self._wait(inner.__aenter__())
        try:
            yield
        except BaseException as error:
            if not self._wait(inner.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._wait(inner.__aexit__(None, None, None))

    def stage(self, effect: str | Callable[..., Any], *, named: str | None = None, **arguments: Any) -> str:
        """Record an effect to be performed after the COMMIT; its idempotency key."""
        return self._stage.add(effect, named, arguments)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

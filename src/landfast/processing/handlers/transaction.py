"""What a handler writes on: the ledger's own transaction, and a place to stage effects. It cannot be committed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from landfast.domain.errors import UserError
from landfast.domain.savepoints import OwnSavepoints
from landfast.ports import ledger as port
from landfast.processing.handlers.stage import After, At, Stage, Staged
from landfast.processing.handlers.writes import Writes, mixed
from landfast.thread_calls import finish

T = TypeVar("T")


def lend(
    scope: port.Scope,
    stage: Stage,
    writes: Writes,
    *,
    state: str | None = None,
    is_async: bool,
    is_in_lane: bool,
) -> Transaction | BlockingTransaction:
    """To the handler of one event."""
    if is_async:
        return Transaction(scope, stage, writes, state=state)
    return BlockingTransaction(scope, stage, writes, state=state, is_in_lane=is_in_lane)


class Lent:
    """What both kinds have in common."""

    def __init__(
        self, scope: port.Scope, stage: Stage, writes: Writes | None = None, *, state: str | None = None
    ) -> None:
        """`writes` is the queue of the ledger's transaction, which it shares with other events of its group."""
        self._state = state
        self._scope = scope
        self._handle = scope.handle
        self._stage = stage
        self._writes = Writes(is_apart=True) if writes is None else writes
        self._savepoints = OwnSavepoints()
        self._is_over = False
        self._is_passed_by = False
        """The handler has something whose statements nobody sees."""
        self._sees_others = scope.before_others(self._sending)
        self.has_written = False

    @property
    def state(self) -> str | None:
        """Of a handler with a lifecycle: the state that the event's entity is in before this event, "absent" at first.
        None where no lifecycle has a say, and in a rehearsal."""
        return self._state

    @property
    def dialect(self) -> str:
        """Of the ledger's SQL: `postgresql`, `sqlite` or `mysql`."""
        return self._handle.dialect

    @property
    def connection(self) -> Any:
        """The driver's own connection, for a library that wants one. COMMIT or ROLLBACK on it fails the attempt. It
        does not go together with `write`, and where it belongs to the event loop's thread, not with a `def` handler."""
        self._pass_by()
        return self._handle.connection

    @property
    def session(self) -> Any:
        """The session of this event, where the ledger is on SQLAlchemy: `Inbox(ledger=engine)`."""
        return self.given("session")

    def given(self, kind: str) -> Any:
        """What else the stack has, by the names of the ledger's port."""
        if not self._sees_others:
            self._pass_by()
        return self._scope.given(kind)

    def write(self, query: str, *args: Any) -> None:
        """Queue an INSERT, UPDATE or DELETE whose answer you do not need: nothing is awaited. It is sent with others,
        in order, before the next statement that is awaited, and before COMMIT. An error of it fails this attempt."""
        if self._is_over:
            raise UserError("this transaction has ended: a tx may be used only until its handler returns")
        if self._is_passed_by:
            raise mixed()
        self._writes.add(query, args)
        self.has_written = True

    def stage(
        self,
        effect: str | Callable[..., Any],
        *,
        named: str | None = None,
        after: After = (),
        at: At = None,
        **arguments: Any,
    ) -> Staged:
        """Record an effect to be performed after the COMMIT; its idempotency key. The arguments must be JSON, so pass
        ids. One effect that is staged more than once for an event needs a `named` for each.

        - `after`: what `tx.stage` returned for others, or their names; or arrivals, such as `paid.of(customer,
          deadline=...)`. It is performed when all of them are done and have come.
        - `at`: not before then, a datetime with its time zone, or a timedelta from now.
        - an argument may be the `.result` of another one, or a list of such: what that one returned. It waits for it.
        """
        return self._stage.add(effect, named, arguments, after, at)

    def _conclude(self) -> Coroutine[Any, Any, None] | None:
        """The handler has returned: what must be sent now."""
        self._is_over = True
        return self._sending() if self._writes.must_go(has_sent=self._scope.used) else None

    def _sending(self) -> Coroutine[Any, Any, None] | None:
        return self._writes.sending(self._handle)

    def _pass_by(self) -> None:
        self._writes.pass_by()
        self._is_passed_by = True

    async def _in_turn(self, method: Callable[..., Coroutine[Any, Any, T]], query: str, args: tuple[Any, ...]) -> T:
        await self._writes.send(self._handle)
        return await method(query, *args)

    def _sent(
        self, method: Callable[..., Coroutine[Any, Any, T]], query: str, args: tuple[Any, ...]
    ) -> Coroutine[Any, Any, T]:
        self._savepoints.saw(query)
        return self._in_turn(method, query, args) if self._writes.is_waiting else method(query, *args)


class Transaction(Lent):
    """The transaction of an `async def` handler, in asyncpg's shape on every ledger: `await` each call, and write $1,
    $2 for arguments on SQLite, too. Landfast commits it, with the receipt, when the handler returns."""

    def __init__(
        self, scope: port.Scope, stage: Stage, writes: Writes | None = None, *, state: str | None = None
    ) -> None:
        super().__init__(scope, stage, writes, state=state)
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

    def execute(self, query: str, *args: Any) -> Awaitable[str]:
        """Run one statement; what the database says of it, such as `INSERT 0 1`."""
        return self._ask("execute", self._sent(self._handle.execute, query, args))

    def fetch(self, query: str, *args: Any) -> Awaitable[Sequence[Any]]:
        """All rows; their columns by name or by number."""
        return self._ask("fetch", self._sent(self._handle.fetch, query, args))

    def fetchrow(self, query: str, *args: Any) -> Awaitable[Any]:
        """The first row, or None."""
        return self._ask("fetchrow", self._sent(self._handle.fetchrow, query, args))

    def fetchval(self, query: str, *args: Any) -> Awaitable[Any]:
        """The first column of the first row, or None."""
        return self._ask("fetchval", self._sent(self._handle.fetchval, query, args))

    def savepoint(self) -> Any:
        """`async with tx.savepoint():` around statements whose database errors you want to catch: without it such an
        error loses the whole transaction on PostgreSQL, and the attempt fails."""
        return self._writes.savepoint(self._handle)

    def conclude(self) -> Coroutine[Any, Any, None] | None:
        """Called when the handler has returned; what is to be awaited then."""
        return self._conclude()

    def _ask(self, name: str, statement: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        # What has ended is forgotten: a handler may run a million of them, one after the other.
        while self._asked and inspect.getcoroutinestate(self._asked[-1][1]) == inspect.CORO_CLOSED:
            self._asked.pop()
        self._asked.append((name, statement))
        return statement


class BlockingTransaction(Lent):
    """The transaction of a `def` handler, which runs in a thread: as `Transaction`, but nothing is awaited. Every call
    waits for the event loop to do the work, unless the transaction lives in the handler's own thread."""

    def __init__(
        self,
        scope: port.Scope,
        stage: Stage,
        writes: Writes | None = None,
        *,
        state: str | None = None,
        is_in_lane: bool = False,
    ) -> None:
        super().__init__(scope, stage, writes, state=state)
        self._loop = None if is_in_lane else asyncio.get_running_loop()

    def check_awaited(self) -> None:
        """Every call has waited for its statement."""

    def execute(self, query: str, *args: Any) -> str:
        """Run one statement; what the database says of it, such as `INSERT 0 1`."""
        return self._wait(self._sent(self._handle.execute, query, args))

    def fetch(self, query: str, *args: Any) -> Sequence[Any]:
        """All rows; their columns by name or by number."""
        return self._wait(self._sent(self._handle.fetch, query, args))

    def fetchrow(self, query: str, *args: Any) -> Any:
        """The first row, or None."""
        return self._wait(self._sent(self._handle.fetchrow, query, args))

    def fetchval(self, query: str, *args: Any) -> Any:
        """The first column of the first row, or None."""
        return self._wait(self._sent(self._handle.fetchval, query, args))

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """`with tx.savepoint():` around statements whose database errors you want to catch."""
        inner = self._writes.savepoint(self._handle)
        self._wait(inner.__aenter__())
        try:
            yield
        except BaseException as error:
            if not self._wait(inner.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._wait(inner.__aexit__(None, None, None))

    def conclude(self) -> None:
        """In the handler's thread, when it has returned."""
        if (sending := self._conclude()) is not None:
            self._wait(sending)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            return finish(work)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

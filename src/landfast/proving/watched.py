"""The user's function, wrapped: its tx is watched, and so is what it calls."""

from __future__ import annotations

import functools
import inspect
import operator
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any, Protocol, runtime_checkable

from landfast.ports.ledger import Batch
from landfast.processing.handlers.transaction import BlockingTransaction, Transaction
from landfast.proving.hooks.calls import watching_calls
from landfast.proving.user_code import Place
from landfast.proving.watching import ON_HANDLE, RUN, Run, Sent

FAULT = "landfast prove: an error of the database, as it may come at any statement"
DEADLOCK = f"DO $$ BEGIN RAISE EXCEPTION '{FAULT}' USING ERRCODE = 'deadlock_detected'; END $$"


def watched(function: Callable[..., Any], run: Run) -> Callable[..., Any]:
    """The same function, run under watch."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait_for(*args: Any, **kwargs: Any) -> Any:
            with _begun(run, args, kwargs):
                return await function(*args, **kwargs)

        return wait_for

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _begun(run, args, kwargs):
            return function(*args, **kwargs)

    return call


class _begun:  # noqa: N801 - read as a verb: with _begun(run, ...)
    def __init__(self, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._run = run
        for given in (*args, *kwargs.values()):
            if isinstance(given, Transaction | BlockingTransaction):
                given._handle = WatchedHandle(given._handle, run)  # noqa: SLF001 - the prover looks inside
                given._stage = _WatchedStage(given._stage, run)  # type: ignore[assignment]  # noqa: SLF001 - same
                given.write = given._handle.noting(given.write)  # type: ignore[method-assign]  # noqa: SLF001 - same

    def __enter__(self) -> None:
        self._token = RUN.set(self._run)
        self._run.begin()
        self._calls = watching_calls(self._run)
        self._calls.__enter__()

    def __exit__(self, *_: object) -> None:
        self._calls.__exit__(None, None, None)
        self._run.end()
        RUN.reset(self._token)


class WatchedHandle:
    """A Transaction of the ledger's port that tells the run of each statement."""

    def __init__(self, handle: Any, run: Run) -> None:
        self._handle = handle
        self._run = run
        self._queued: list[tuple[str, tuple[Any, ...], Place]] = []

    @property
    def dialect(self) -> str:
        return str(self._handle.dialect)

    @property
    def connection(self) -> Any:
        return self._handle.connection

    def execute(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        return self._send("execute", query, args)

    def fetch(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        return self._send("fetch", query, args)

    def fetchrow(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        return self._send("fetchrow", query, args)

    def fetchval(self, query: str, *args: Any) -> Coroutine[Any, Any, Any]:
        return self._send("fetchval", query, args)

    def noting(self, write: Callable[..., None]) -> Callable[..., None]:
        """`tx.write`, with the line of the user's code that calls it: the statement itself is sent later."""

        def noted(query: str, *args: Any) -> None:
            write(query, *args)
            self._queued.append((query, args, self._run.place()))

        return noted

    async def send_all(self, batches: Sequence[Batch]) -> None:
        """One after the other, so that a crash, an error or another event can come before each."""
        with nullcontext() if self._run.is_active else _resumed(self._run):
            for query, rows in batches:
                for args in rows:
                    await self._send("execute", query, tuple(args), self._place(query, tuple(args)))

    def _place(self, query: str, args: tuple[Any, ...]) -> Place | None:
        for number, (known, given, place) in enumerate(self._queued):
            if known == query and len(given) == len(args) and all(map(operator.is_, given, args)):
                del self._queued[number]
                return place
        return None

    def savepoint(self) -> Any:
        return self._savepoint()

    @asynccontextmanager
    async def _savepoint(self) -> AsyncIterator[None]:
        async with self._handle.savepoint():
            self._run.savepoints += 1
            try:
                yield
            finally:
                self._run.savepoints -= 1

    async def _send(self, method: str, query: str, args: tuple[Any, ...], place: Place | None = None) -> Any:
        run = self._run
        sent = run.before(query, args, place=place)
        if run.is_on_loop():
            await run.wait(sent)
        else:
            run.wait_blocking(sent)
        token = ON_HANDLE.set(True)
        try:
            if run.must_fail(sent):
                await self._fail()
            answer = await getattr(self._handle, method)(query, *args)
        except BaseException as error:
            run.after(sent, error)
            raise
        finally:
            ON_HANDLE.reset(token)
        run.note_answer(sent, answer)
        run.after(sent)
        return answer

    async def _fail(self) -> None:
        """The server's own error, so that it takes the transaction for lost, too; SQLite loses the statement only."""
        if type(self._handle).__module__.startswith("landfast.ledgers.sqlite"):
            raise sqlite3.OperationalError(FAULT)
        await self._handle.execute(DEADLOCK)


class _WatchedStage:
    def __init__(self, stage: Any, run: Run) -> None:
        self._stage = stage
        self._run = run

    def add(self, effect: Any, named: str | None, arguments: dict[str, Any], after: Any = (), at: Any = None) -> Any:
        name = effect if isinstance(effect, str) else getattr(effect, "__name__", "?")
        asked = (named, tuple(sorted(arguments.items(), key=_first)), tuple(after), at)
        sent: Sent = self._run.before(f"stage {name}", asked)
        staged = self._stage.add(effect, named, arguments, after, at)
        self._run.after(sent)
        return staged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


class WatchedLedger:
    """A ReceiptStore whose scopes are closed under watch: what a session sends at its end is the handler's, too."""

    def __init__(self, ledger: Any, run: Run) -> None:
        self._ledger = ledger
        self._run = run

    async def begin(self, **how: Any) -> Any:
        return _WatchedTransaction(await self._ledger.begin(**how), self._run)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)


class _WatchedTransaction:
    def __init__(self, transaction: Any, run: Run) -> None:
        self._transaction = transaction
        self._run = run
        if isinstance(transaction, ClosesInItsTrip):
            transaction.conclude = self._watched(transaction.conclude)

    def _watched(self, conclude: Callable[[], None]) -> Callable[[], None]:
        """In a lane a scope may be closed before its thread is left."""

        def call() -> None:
            with _resumed(self._run):
                conclude()

        return call

    @property
    def lane(self) -> Any:
        lane = self._transaction.lane
        return None if lane is None else _WatchedLane(lane, self._run)

    async def scope(self) -> Any:
        return _WatchedScope(await self._transaction.scope(), self._run)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)


class _WatchedLane:
    def __init__(self, lane: Any, run: Run) -> None:
        self._lane = lane
        self._run = run

    def drive(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        return self._lane.drive(lambda driven: work(_WatchedTransaction(driven, self._run)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lane, name)


@runtime_checkable
class ClosesInItsTrip(Protocol):
    conclude: Callable[[], None]


@contextmanager
def _resumed(run: Run) -> Iterator[None]:
    token = RUN.set(run)
    run.resume()
    try:
        yield
    finally:
        run.end()
        RUN.reset(token)


class _WatchedScope:
    def __init__(self, scope: Any, run: Run) -> None:
        self._scope = scope
        self._run = run

    async def close(self) -> None:
        with _resumed(self._run):
            await self._scope.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scope, name)

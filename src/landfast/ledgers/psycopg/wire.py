"""Landfast's transaction on a connection of the user's psycopg pool."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self
from weakref import WeakKeyDictionary

import psycopg
from psycopg.rows import dict_row

from landfast.domain.errors import CommitUnknownError, LedgerUnavailableError
from landfast.ledgers import control, limits
from landfast.ledgers.postgres import faults, libpq, rows, said_settings, settings
from landfast.ledgers.postgres.foreign_errors import translated, translating
from landfast.ledgers.postgres.said_settings import ROLE
from landfast.ledgers.postgres.telling import statements_of
from landfast.ledgers.postgres.wire import Row
from landfast.ledgers.psycopg import lending
from landfast.ledgers.psycopg.handle import BlockingPsycopgHandle, PsycopgHandle

_SETTINGS: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
"""Of each connection, as they were when Landfast first had it. RESET ALL would also undo what the user's pool sets on
its connections, such as a search_path, and for good."""
_OURS_TO_RELAX = "lock_timeout"


class _Wire:
    """What both have: state, and what a handler is given."""

    handle: type[PsycopgHandle]
    fetch: Callable[..., Coroutine[Any, Any, Sequence[Row]]]
    _tell: Callable[[str], Coroutine[Any, Any, str]]
    _borrow: Callable[[], Coroutine[Any, Any, Any]]
    _put_back: Callable[[], Coroutine[Any, Any, None]]

    def __init__(self, pool: Any, *, may_keep: bool) -> None:
        """`may_keep` says whether the server may keep statements for the connection."""
        self._pool = pool
        self._may_keep = may_keep
        self._connection: Any = None
        self._tries = int(pool.max_size)
        """Every connection of the pool may be dead, of a server that was restarted."""
        self._scope: PsycopgHandle | None = None
        self._said: dict[str, str | None] = {}
        self._is_lost = False
        """It is in a state that nobody else should find, or nothing was heard of a COMMIT: it is closed at the end."""

    def _use(self, connection: Any) -> None:
        self._connection = connection
        self._own = lending.of_our_own(connection)
        self.statements = statements_of(connection, may_keep=self._may_keep)

    @property
    def teller(self) -> Self:
        return self

    def examine(self) -> None:
        if self._connection.closed:
            raise LedgerUnavailableError("ledger: the server closed the connection of an open transaction")
        if self._scope is not None and self._scope.is_left_running:
            raise control.left_running()
        if self._connection.pgconn.transaction_status == lending.IDLE:
            raise control.ended_by_handler()

    def scope(self) -> PsycopgHandle:
        if self._scope is not None:
            self._scope.end()
        self._scope = self.handle(self._connection, self._said)
        return self._scope

    def end(self) -> None:
        if self._scope is not None:
            self._is_lost = self._is_lost or self._scope.has_left_open or self._scope.is_left_running
            self._scope.end()

    async def renew(self) -> bool:
        if not self._connection.closed or not self._tries or self._is_lost:  # the last: we hung up ourselves
            return False
        self._tries -= 1
        await self._put_back()
        self._use(await self._borrow())
        return True

    def distrust(self) -> None:
        self._is_lost = True

    def hang_up(self) -> None:
        """From any thread, without a lock: the server rolls back for who hangs up."""
        self._is_lost = True
        if self._connection is None:
            return
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def is_open(self) -> bool:
        return (
            self.is_connected
            and not self._connection.closed
            and self._connection.pgconn.transaction_status != lending.IDLE
        )

    def _cursor(self, kind: Any) -> Any:
        return kind(self._own, row_factory=dict_row)

    @property
    def settings_may_differ(self) -> bool:
        return self._scope is not None and self._scope.may_have_set

    async def send(self, statements: Sequence[str]) -> None:
        await self.tell("; ".join(statements))

    send_with_next = send

    async def tell(self, text: str) -> str:
        tag = await self._tell(text)
        if text.startswith("BEGIN") and self._connection not in _SETTINGS:
            found = await self.fetch(rows.SQL["settings_look"], [])
            _SETTINGS[self._connection] = {row["name"]: row["value"] for row in found if row["name"] != _OURS_TO_RELAX}
        return tag

    async def tell_last(self, text: str) -> str:
        return await self._tell(text)

    async def undo_settings(self, statements: Sequence[str]) -> None:
        if not self.settings_may_differ:
            return
        before = self._before()
        if ROLE in self._said:  # first, because it may not be allowed to look at all the others
            await self._put({ROLE: before[ROLE]}, for_session=False)
        await self.fetch(rows.SQL["settings_undo"], list(before), list(before.values()))
        await self.send([settings.RELAX, *(each for each in statements if each not in settings.RESET)])

    async def leave_settings(self, statements: Sequence[str]) -> None:  # noqa: ARG002 - as above
        if self._said:
            before = self._before()
            await self._put({name: before[name] for name in self._said if name in before}, for_session=True)

    def _before(self) -> dict[str, str]:
        dotted = {name: value for name, value in self._said.items() if value is not None}
        return _SETTINGS.get(self._connection, {}) | dotted

    async def _put(self, before: dict[str, str], *, for_session: bool) -> None:
        await self.fetch(rows.SQL["settings_put"], *said_settings.put(before, for_session=for_session))

    def _at_commit(self, error: Exception) -> Exception:
        known = translated(error) or error
        self._is_lost = self._is_lost or not faults.is_answer(known)
        return faults.at_commit(known)


class AsyncPsycopgWire(_Wire):
    blocks = False
    handle = PsycopgHandle

    def __init__(self, pool: Any, connection: Any, *, may_keep: bool) -> None:
        super().__init__(pool, may_keep=may_keep)
        self._use(connection)
        self.gone: Callable[[], None] = lambda: None
        """Called when the connection is back in its pool."""

    async def connect(self) -> None:
        """It has one."""

    async def _tell(self, text: str) -> str:
        with translating():
            async with asyncio.timeout(limits.ANSWER_WAIT):
                return await libpq.say_and_wait(self._connection, text)

    async def fetch(self, query: str, *values: Any) -> Sequence[Row]:
        with translating():
            async with asyncio.timeout(limits.ANSWER_WAIT):
                cursor = await self._cursor(psycopg.AsyncRawCursor).execute(query, values, prepare=True)
                found: Sequence[Row] = await cursor.fetchall()
        return found

    async def execute(self, query: str, *values: Any) -> int:
        with translating():
            async with asyncio.timeout(limits.ANSWER_WAIT):
                cursor = await self._cursor(psycopg.AsyncRawCursor).execute(query, values, prepare=True)
        return int(cursor.rowcount)

    async def commit(self) -> bool:
        try:
            async with asyncio.timeout(limits.ANSWER_WAIT):
                cursor = await self._cursor(psycopg.AsyncRawCursor).execute("COMMIT")
        except (psycopg.Error, OSError) as error:
            raise self._at_commit(error) from error
        except asyncio.CancelledError as error:
            self._is_lost = True
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error
        return bool(cursor.statusmessage == "COMMIT")

    async def give_back(self) -> None:
        try:
            if not self._is_lost and self.is_open:
                async with asyncio.timeout(limits.ANSWER_WAIT):
                    await self._cursor(psycopg.AsyncRawCursor).execute("ROLLBACK")
        except (psycopg.Error, OSError):
            self._is_lost = True
        if self._is_lost:
            self.hang_up()
            # Who still waits for an answer hears of it now. Closed under their feet, the descriptor's number would be
            # the next connection's, and theirs too.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.ANSWER_WAIT), self._connection.lock:
                    self._connection.pgconn.finish()
        try:
            await self._put_back()
        finally:
            self.gone()

    async def _borrow(self) -> Any:
        with translating():
            return await self._pool.getconn(timeout=limits.ANSWER_WAIT)

    async def _put_back(self) -> None:
        with contextlib.suppress(psycopg.Error, OSError):
            async with asyncio.timeout(limits.ANSWER_WAIT):
                await self._pool.putconn(self._connection)


class BlockingPsycopgWire(_Wire):
    """Its coroutines never suspend: a lane runs them to their end in one go."""

    blocks = True
    handle = BlockingPsycopgHandle

    def __init__(self, pool: Any, borrow: Callable[[], Any], *, may_keep: bool) -> None:
        super().__init__(pool, may_keep=may_keep)
        self._borrow_first = borrow

    async def connect(self) -> None:
        if self._connection is None:
            self._use(self._borrow_first())

    async def _tell(self, text: str) -> str:
        with translating():
            return libpq.say(self._connection, text)

    async def fetch(self, query: str, *values: Any) -> Sequence[Row]:
        with translating():
            found: Sequence[Row] = self._cursor(psycopg.RawCursor).execute(query, values, prepare=True).fetchall()
        return found

    async def execute(self, query: str, *values: Any) -> int:
        with translating():
            return int(self._cursor(psycopg.RawCursor).execute(query, values, prepare=True).rowcount)

    async def commit(self) -> bool:
        try:
            return bool(self._cursor(psycopg.RawCursor).execute("COMMIT").statusmessage == "COMMIT")
        except (psycopg.Error, OSError) as error:
            raise self._at_commit(error) from error

    async def give_back(self) -> None:
        if self._connection is None:
            return
        try:
            if not self._is_lost and self.is_open:
                self._cursor(psycopg.RawCursor).execute("ROLLBACK")
        except (psycopg.Error, OSError):
            self._is_lost = True
        if self._is_lost:
            self.hang_up()
            if self._connection.lock.acquire(timeout=limits.ANSWER_WAIT):  # as above
                self._connection.pgconn.finish()
                self._connection.lock.release()
        await self._put_back()

    async def _borrow(self) -> Any:
        with translating():
            return self._pool.getconn(timeout=limits.ANSWER_WAIT)

    async def _put_back(self) -> None:
        with contextlib.suppress(psycopg.Error, OSError):
            self._pool.putconn(self._connection)

"""A connection to PostgreSQL with a transaction of ours on it, whoever's it is: asyncpg's, SQLAlchemy's, Django's.

Landfast's own statements go over the driver itself, past any ORM. Each driver has its wire; what is sent is the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import asyncpg

from landfast.domain.errors import CommitUnknownError, LedgerUnavailableError
from landfast.ledgers import control, limits
from landfast.ledgers.postgres import faults
from landfast.ledgers.postgres.handle import PostgresHandle
from landfast.ledgers.postgres.telling import Statements, statements_of
from landfast.ports.ledger import Scope

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool, PoolConnectionProxy


class Row(Protocol):
    def __getitem__(self, column: str, /) -> Any: ...


class Teller(Protocol):
    """The part of a wire that says BEGIN and COMMIT itself, with other statements in the same text."""

    @property
    def statements(self) -> Statements:
        """What the server keeps for this connection."""
        ...

    async def connect(self) -> None:
        """Have a connection, if it has none yet."""
        ...

    async def tell(self, text: str) -> str:
        """Statements without values, in one round trip; the command tag of the last."""
        ...

    async def tell_last(self, text: str) -> str:
        """The same with COMMIT at the end."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open, be it a failed one, as far as the server has told."""
        ...

    def distrust(self) -> None:
        """Nothing was heard of a COMMIT: the connection is not to be used again."""
        ...

    async def renew(self) -> bool:
        """Another connection in place of one that was dead before anything was said on it. False where it was not, or
        there is no other."""
        ...


class Wire(Protocol):
    """Errors are the driver's own, and `faults.ANY` has them all, unless it says otherwise."""

    @property
    def blocks(self) -> bool:
        """None of its coroutines suspends: they run in a lane."""
        ...

    async def send(self, statements: Sequence[str]) -> None:
        """Several without values, in one round trip where the driver can."""
        ...

    async def send_with_next(self, statements: Sequence[str]) -> None:
        """The same at once, or together with the `fetch` that comes next."""
        ...

    async def fetch(self, query: str, *values: Any) -> Sequence[Row]:
        """Rows whose columns have names. Arrays are lists, and placeholders $1, $2."""
        ...

    async def execute(self, query: str, *values: Any) -> int:
        """How many rows it changed."""
        ...

    def examine(self) -> None:
        """LedgerUnavailableError where the connection is gone, HandlerEndedTransactionError where it is outside of a
        transaction: there the server would commit each statement by itself."""
        ...

    def scope(self) -> Scope:
        """What the next handler writes on."""
        ...

    async def undo_settings(self, statements: Sequence[str]) -> None:
        """Send these, if a handler may have changed a setting since the last time."""
        ...

    async def leave_settings(self, statements: Sequence[str]) -> None:
        """After the last handler, if one has said SET: put back what it has changed, for the statements that follow and
        for whoever gets the connection next."""
        ...

    def end(self) -> None:
        """From now on nothing that a handler holds sends a statement, as far as this can be had."""
        ...

    async def commit(self) -> bool:
        """Whether the server's answer was that it committed: it answers ROLLBACK where the transaction was lost.
        CommitRefusedError for an error as the answer, CommitUnknownError for none."""
        ...

    @property
    def teller(self) -> Teller | None:
        """None where BEGIN and COMMIT are somebody else's to send."""
        ...

    async def give_back(self) -> None:
        """Roll back what is open, and return the connection to where it is from, or close it. Never raises."""
        ...


class AsyncpgWire:
    """A connection of Landfast's own pool."""

    blocks = False

    def __init__(self, pool: Pool[Record], connection: PoolConnectionProxy[Record], *, may_keep: bool) -> None:
        """`may_keep` says whether the server may keep statements for the connection."""
        self._pool = pool
        self._connection = connection
        self.teller = self
        # The pool's proxy is another one each time.
        self.statements = statements_of(connection._con, may_keep=may_keep)  # type: ignore[attr-defined]  # noqa: SLF001
        self._handle = PostgresHandle(connection)
        self._unanswered = False
        """COMMIT was sent and nothing came back: the connection is not to be used again."""

    async def send(self, statements: Sequence[str]) -> None:
        await self._connection.execute("; ".join(statements), timeout=limits.ANSWER_WAIT)

    send_with_next = send

    async def fetch(self, query: str, *values: Any) -> Sequence[Record]:
        return await self._connection.fetch(query, *values, timeout=limits.ANSWER_WAIT)

    async def execute(self, query: str, *values: Any) -> int:
        tag = await self._connection.execute(query, *values, timeout=limits.ANSWER_WAIT)
        return int(tag.rpartition(" ")[2])

    def examine(self) -> None:
        if faults.is_gone(self._connection):
            raise LedgerUnavailableError("ledger: the server closed the connection of an open transaction")
        if not self._connection.is_in_transaction():
            raise control.ended_by_handler()

    def scope(self) -> PostgresHandle:
        self._handle.next_event()
        return self._handle

    async def undo_settings(self, statements: Sequence[str]) -> None:
        if not self._handle.may_have_set:
            return  # a round trip for each event of a group is a good part of what it costs
        self._handle.may_have_set = False
        await self.send(statements)

    async def leave_settings(self, statements: Sequence[str]) -> None:
        if self._handle.has_set:  # the pool resets the session itself: this is for our own statements
            await self.send(statements)

    def end(self) -> None:
        self._handle.end()

    async def connect(self) -> None:
        """It has one."""

    async def tell(self, text: str) -> str:
        return await self._connection.execute(text, timeout=limits.ANSWER_WAIT)

    tell_last = tell

    @property
    def is_open(self) -> bool:
        return bool(not faults.is_gone(self._connection) and self._connection.is_in_transaction())

    def distrust(self) -> None:
        self._unanswered = True

    async def renew(self) -> bool:
        return False  # the pool has looked

    async def commit(self) -> bool:
        try:
            return await self._connection.execute("COMMIT", timeout=limits.ANSWER_WAIT) == "COMMIT"
        except faults.ANY as error:
            self._unanswered = not faults.is_answer(error)
            raise faults.at_commit(error) from error
        except asyncio.CancelledError as error:
            self._unanswered = True
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error

    async def give_back(self) -> None:
        try:
            if self._unanswered:
                self._connection.terminate()
            elif self.is_open:
                await self._connection.execute("ROLLBACK", timeout=limits.ANSWER_WAIT)
                # It may have failed because a handler said DEALLOCATE, and asyncpg does not notice.
                self._connection._con._drop_local_statement_cache()  # type: ignore[attr-defined]  # noqa: SLF001
        except faults.ANY:
            # It does not answer, or the handler left a statement running on it: the server rolls back for who hangs up.
            with contextlib.suppress(asyncpg.InterfaceError):
                self._connection.terminate()
        with contextlib.suppress(*faults.ANY):
            await self._pool.release(self._connection, timeout=limits.ANSWER_WAIT)

"""Landfast's statements on Django's connection to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from landfast.domain.errors import CommitRefusedError, CommitUnknownError
from landfast.ledgers.django.handle import PostgresDjangoHandle
from landfast.ledgers.django.lanes import DjangoLanes
from landfast.ledgers.django.postgres import PostgresConnection
from landfast.ledgers.django.transaction import DjangoTransaction
from landfast.ledgers.postgres import faults, foreign_errors, rows, said_settings
from landfast.ledgers.postgres.dbapi import DbapiStatements
from landfast.ledgers.postgres.said_settings import ROLE
from landfast.ledgers.postgres.telling import Statements, statements_of
from landfast.ledgers.postgres.transaction import PostgresTransaction
from landfast.ledgers.postgres.wire import Row
from landfast.ports.ledger import Scope
from landfast.sealing import Seal

T = TypeVar("T")

_BEGIN = "BEGIN "


def begin_postgres(
    lanes: DjangoLanes, isolation: str, *, silence: float, seal: Seal, may_keep: bool
) -> DjangoTransaction:
    """`may_keep` says whether the server may keep statements for the connection."""
    lane = lanes.take()
    assert isinstance(lane.connection, PostgresConnection)  # noqa: S101 - for the type checker
    wire = DjangoWire(lane.connection, may_keep=may_keep)
    inner = DjangoPostgresTransaction(wire, silence=silence, seal=seal)
    inner.isolation = isolation
    wire.transaction = DjangoTransaction(inner, lane, lanes, wire.handle)
    return wire.transaction


class DjangoPostgresTransaction(PostgresTransaction):
    """Its coroutines block, and it begins when it is first used."""

    isolation = ""

    async def begin_now(self) -> None:
        await self.begin(self.isolation)

    async def say_begin(self) -> None:
        await self._begun()


class DjangoWire:
    """A Wire. All of it runs in the thread of the connection."""

    blocks = True
    transaction: DjangoTransaction

    def __init__(self, connection: PostgresConnection, *, may_keep: bool) -> None:
        self._connection = connection
        self._may_keep = may_keep
        self._may_renew = connection.may_reconnect
        self._is_gone = False
        self.handle = PostgresDjangoHandle(connection, self._in_thread)

    async def send(self, statements: Sequence[str]) -> None:
        with foreign_errors.translating():
            if not statements[0].startswith(_BEGIN):
                await self._statements.send(statements)
                return
            try:
                await self._begin(statements)
            except Exception as error:
                if not self._connection.may_reconnect or not foreign_errors.is_gone(error):
                    raise
                # An idle connection that died meanwhile. Nothing has happened yet, so begin on another one.
                self._connection.drop()
                await self._begin(statements)

    send_with_next = send

    @property
    def teller(self) -> DjangoWire | None:
        """psycopg2 knows only of transactions that it has begun itself, and in a test BEGIN is a savepoint."""
        return self if self._connection.goes_by_the_server else None

    @property
    def statements(self) -> Statements:
        return statements_of(self._connection.raw, may_keep=self._may_keep)

    async def connect(self) -> None:
        """Django is in its atomic block from now on; psycopg would send BEGIN with the first statement."""
        with foreign_errors.translating():
            self._connection.begin()

    async def tell(self, text: str) -> str:
        with foreign_errors.translating():
            try:
                return self._connection.say(text)
            except Exception as error:
                self._is_gone = foreign_errors.is_gone(error)
                raise

    async def tell_last(self, text: str) -> str:
        with foreign_errors.translating():
            return self._connection.commit_saying(text)

    @property
    def is_open(self) -> bool:
        """After COMMIT was tried. By now Django has rolled back."""
        return self._connection.was_left_open

    def distrust(self) -> None:
        self._connection.drop()

    async def renew(self) -> bool:
        if not self._may_renew or not self._is_gone or self._connection.fence.is_over:
            return False
        self._may_renew = False
        self._connection.drop()
        await self.connect()
        return True

    async def fetch(self, query: str, *values: Any) -> Sequence[Row]:
        with foreign_errors.translating():
            return await self._statements.fetch(query, *values)

    async def execute(self, query: str, *values: Any) -> int:
        with foreign_errors.translating():
            return await self._statements.execute(query, *values)

    def examine(self) -> None:
        self._connection.examine()

    def scope(self) -> Scope:
        """The transaction around it makes its own."""
        return self.handle  # type: ignore[return-value]

    async def undo_settings(self, statements: Sequence[str]) -> None:  # noqa: ARG002 - RESET would undo Django's own
        before, self._connection.settings = self._connection.settings, {}
        if ROLE in self._connection.at_first:  # first, because it may not be allowed to look at all the others
            await self._put({ROLE: self._connection.at_first[ROLE]}, for_session=False)
        if before:
            await self.fetch(rows.SQL["settings_undo"], list(before), list(before.values()))

    async def leave_settings(self, statements: Sequence[str]) -> None:  # noqa: ARG002 - the same
        before, self._connection.at_first = self._connection.at_first, {}
        if before:
            await self._put(before, for_session=True)

    def end(self) -> None:
        self.handle.has_ended = True

    async def commit(self) -> bool:
        try:
            self._connection.commit()
        except Exception as error:
            told = foreign_errors.translated(error)
            if told is None:
                raise
            if faults.is_answer(told):
                raise CommitRefusedError(f"ledger: COMMIT was refused ({told})") from error
            raise CommitUnknownError(f"ledger: no answer to COMMIT ({told})") from error
        return True

    async def give_back(self) -> None:
        self._connection.roll_back()
        self._connection.release()

    async def _put(self, before: dict[str, str], *, for_session: bool) -> None:
        await self.fetch(rows.SQL["settings_put"], *said_settings.put(before, for_session=for_session))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self.transaction.here(work)

    @property
    def _statements(self) -> DbapiStatements:
        return DbapiStatements(self._connection.raw)

    async def _begin(self, statements: Sequence[str]) -> None:
        self._connection.begin()
        begin, *others = statements
        # Django sends BEGIN itself, without a level.
        level = [begin.replace(_BEGIN, "SET TRANSACTION ", 1)] if not self._connection.is_in_a_test else []
        await self._statements.send([*level, *others])

"""A transaction of ours on PostgreSQL through SQLAlchemy: a Wire, on the loop or in a lane."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from sqlalchemy.exc import DBAPIError

from landfast.domain.errors import LedgerUnavailableError
from landfast.ledgers import control, limits
from landfast.ledgers.postgres import faults
from landfast.ledgers.postgres.foreign_errors import translating
from landfast.ledgers.postgres.said_settings import SaidSettings
from landfast.ledgers.postgres.telling import Statements, statements_of
from landfast.ledgers.sqlalchemy.driving import Driving
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlalchemy.handle import RawHandle
from landfast.ledgers.sqlalchemy.joined import Joined
from landfast.ledgers.sqlalchemy.raw import AsyncpgRaw, PostgresRaw
from landfast.ledgers.sqlalchemy.scope import SessionScope
from landfast.ledgers.sqlalchemy.target import Target

_BEGIN = re.compile(r"BEGIN ISOLATION LEVEL ([A-Z ]+) READ WRITE")
_SET = re.compile(r"^SET LOCAL (\w+) = '?([^'\n]*)'?$", re.MULTILINE)


class SqlalchemyWire:
    """It has a connection of the user's pool from the first statement on."""

    def __init__(self, target: Target, driving: Driving, gone: Callable[[], None], *, may_keep: bool) -> None:
        """`gone` is called when the connection is back in its pool, `may_keep` says whether the server may keep
        statements for it."""
        self.blocks = driving.blocks
        self._target = target
        self._may_keep = may_keep
        self._may_renew = True
        self._driving = driving
        self._gone = gone
        self.fence = Fence()
        self._joined = Joined(target.fenced, self.fence)
        self._raw: PostgresRaw | None = None
        self._driver: Any = None
        self._settings = SaidSettings(self._fetch)
        self._isolation = "AUTOCOMMIT"
        """For SQLAlchemy. It takes the connection for one that commits by itself, and leaves BEGIN and COMMIT to us."""
        self._first = ""
        """What is still to be said, where BEGIN is the driver's."""
        self._unanswered = False
        """COMMIT was sent and nothing came back: the connection is not to be used again."""

    @property
    def teller(self) -> SqlalchemyWire | None:
        """psycopg2 knows only of transactions that it has begun itself: on others its `rollback` does nothing, and says
        nothing."""
        return None if self._target.driver == "psycopg2" else self

    @property
    def statements(self) -> Statements:
        return statements_of(self._driver, may_keep=self._may_keep)

    async def connect(self) -> None:
        with translating():
            self._raw = await self._connected(self._isolation)

    async def tell(self, text: str) -> str:
        with translating():
            return await self._open().say(text, patience=limits.ANSWER_WAIT)

    async def tell_last(self, text: str) -> str:
        from landfast.ledgers.sqlalchemy.raw_psycopg import commits_unsent

        with translating(), commits_unsent(self._driver) if self._target.driver == "psycopg" else nullcontext():
            await self._driving.run(self._joined.commit)  # hooks of the user's hear of it, and may refuse
        return await self.tell(text)

    @property
    def is_open(self) -> bool:
        return self._raw is not None and not self._raw.is_gone() and self._raw.is_in_transaction()

    def distrust(self) -> None:
        self._unanswered = True

    async def renew(self) -> bool:
        """Nothing has happened on it yet. A statement of SQLAlchemy's own lets it throw away the others that are as
        old. One that we hung up on was not dead: its server does not answer."""
        if self._raw is None or not self._raw.is_gone() or not self._may_renew or self._unanswered:
            return False
        self._may_renew = False
        try:
            await self._driving.within(limits.ANSWER_WAIT, lambda: self._joined.first("SELECT 1"))
        except DBAPIError as error:
            await self._leave(error)
        await self.connect()
        return True

    async def send(self, statements: Sequence[str]) -> None:
        with translating():
            if self._raw is None:
                await self._begin(statements)
                await self._ask_first("SELECT 1", ())
            else:
                await self._raw.execute("; ".join(statements), (), patience=limits.ANSWER_WAIT)

    async def send_with_next(self, statements: Sequence[str]) -> None:
        with translating():
            await self._begin(statements)

    async def fetch(self, query: str, *values: Any) -> Sequence[Any]:
        return await self._fetch(query, values)

    async def execute(self, query: str, *values: Any) -> int:
        with translating():
            tag = await self._open().execute(query, values, patience=limits.ANSWER_WAIT)
        return int(tag.rpartition(" ")[2])

    def examine(self) -> None:
        raw = self._raw
        if raw is None or raw.is_gone():
            raise LedgerUnavailableError("ledger: the server closed the connection of an open transaction")
        self._joined.check()
        if not raw.is_in_transaction():
            raise self.fence.lose(control.ended_by_handler())

    def scope(self) -> SessionScope:
        raw = self._open()
        raw.lend(self.fence)  # a handler may find the driver's connection without asking us for it
        handle = RawHandle(raw, self.fence, self._settings.keep)
        return SessionScope(self._joined, self._driving, self._target, handle)

    async def undo_settings(self, statements: Sequence[str]) -> None:  # noqa: ARG002 - see said_settings
        await self._settings.restore()

    async def leave_settings(self, statements: Sequence[str]) -> None:  # noqa: ARG002 - the same
        await self._settings.leave()

    def end(self) -> None:
        self.fence.end()
        if self._raw is not None:
            self._raw.take_back()

    async def commit(self) -> bool:
        try:
            with translating():
                await self._driving.to_its_end(self._joined.commit)
        except faults.ANY as error:
            self._unanswered = not faults.is_answer(error)
            raise faults.at_commit(error) from error
        # The statement before it deleted the guard row, which it could not have done in a lost transaction.
        return True

    async def give_back(self) -> None:
        try:
            await self._driving.until_quiet()
            await self._close()
        finally:
            if self._raw is not None:
                self._raw.close()
            self._gone()

    async def _close(self) -> None:
        try:
            if self.is_open and not self._unanswered:
                await self.tell("ROLLBACK")
        except faults.ANY:  # it does not answer, or the handler left a statement running: the server rolls back
            self._unanswered = True
        try:
            await self._driving.within(limits.ANSWER_WAIT, lambda: self._joined.close(is_broken=self._unanswered))
        except TimeoutError:  # it does not answer: the server rolls back for who hangs up
            await self._driving.run(lambda: self._joined.close(is_broken=True))

    def hang_up(self) -> None:
        """From the loop, while a handler in the lane has overrun its deadline."""
        self._unanswered = True
        self.fence.lose(control.ended())
        if self._raw is not None:
            self._raw.hang_up()

    async def _begin(self, statements: Sequence[str]) -> None:
        """psycopg2 sends BEGIN by itself, before the first statement. What else there is to say goes with that one."""
        self._isolation = "".join(_BEGIN.findall(statements[0]))
        settings = [("transaction_read_only", "off"), *_SET.findall("\n".join(statements[1:]))]
        self._first = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings)
        self._raw = await self._connected(self._isolation)

    async def _ask_first(self, query: str, values: Sequence[Any]) -> Sequence[Any]:
        """Once more where the pool's connection turns out to be dead: nothing has happened on it yet."""
        try:
            found = await self._open().fetch(f"{self._first}; {query}", values, patience=limits.ANSWER_WAIT)
        except Exception:
            if not await self.renew():
                raise
            found = await self._open().fetch(f"{self._first}; {query}", values, patience=limits.ANSWER_WAIT)
        self._first = ""
        return found

    async def _leave(self, error: DBAPIError) -> None:
        """The connection, if SQLAlchemy calls it dead."""
        if not error.connection_invalidated:
            raise error
        if self._raw is not None:
            self._raw.close()
        await self._driving.run(lambda: self._joined.close(is_broken=True))
        self.fence.has_begun = self.fence.has_ended = False
        self._joined = Joined(self._target.fenced, self.fence)

    async def _connected(self, isolation: str) -> PostgresRaw:
        self._driver = await self._driving.run(lambda: self._joined.connect(isolation_level=isolation))
        raw = _raw(self._target, self._driver)
        self._driving.hang_up = raw.hang_up
        self.fence.is_in_transaction = raw.is_in_transaction
        self.fence.before_statement = self._before_statement
        self.fence.on_rollback = self._roll_back_too
        return raw

    def _roll_back_too(self) -> None:
        """SQLAlchemy rolls back what the handler tells it to. asyncpg's connection takes its word that there is nothing
        to roll back, because it did not begin."""
        if self._target.driver == "asyncpg" and self.is_open:
            self._driving.inside(self.tell("ROLLBACK"))

    def _before_statement(self, statement: str) -> None:
        if self._settings.concern(statement):
            self._driving.inside(self._settings.keep(statement))

    def _open(self) -> PostgresRaw:
        if self._raw is None or not self._joined.is_usable:
            raise LedgerUnavailableError("ledger: the connection of an open transaction is gone")
        return self._raw

    async def _fetch(self, query: str, values: Sequence[Any]) -> Sequence[Any]:
        with translating():
            if self._first:
                return await self._ask_first(query, values)
            return await self._open().fetch(query, values, patience=limits.ANSWER_WAIT)


def _raw(target: Target, driver: Any) -> PostgresRaw:
    from landfast.ledgers.sqlalchemy.raw_psycopg import AsyncPsycopgRaw, Psycopg2Raw, PsycopgRaw

    if target.driver == "asyncpg":
        return AsyncpgRaw(driver)
    if target.driver == "psycopg2":
        return Psycopg2Raw(driver)
    return AsyncPsycopgRaw(driver) if target.is_async else PsycopgRaw(driver)

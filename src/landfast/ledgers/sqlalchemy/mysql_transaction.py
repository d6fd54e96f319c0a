"""A transaction of ours on MySQL or MariaDB through SQLAlchemy, on the loop (aiomysql) or in a lane (PyMySQL)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ClaimedEffect, StagedEffect
from landfast.domain.errors import LedgerUnavailableError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, StateKey
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import control, limits, reserving
from landfast.ledgers.meeting import to_lock
from landfast.ledgers.mysql import arrivals as mysql_arrivals
from landfast.ledgers.mysql import faults, implicit, lane_memory, rows
from landfast.ledgers.mysql.freeing import held
from landfast.ledgers.mysql.receipts import MysqlReceipts, store_all
from landfast.ledgers.mysql.statements import Statements, change_all
from landfast.ledgers.sqlalchemy import mysql_session
from landfast.ledgers.sqlalchemy.driving import Driving
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlalchemy.handle import RawHandle
from landfast.ledgers.sqlalchemy.joined import Joined
from landfast.ledgers.sqlalchemy.mysql_errors import own_statement
from landfast.ledgers.sqlalchemy.raw_mysql import BlockingMysqlRaw, WaitingMysqlRaw
from landfast.ledgers.sqlalchemy.scope import SessionScope
from landfast.ledgers.sqlalchemy.target import Target
from landfast.sealing import Seal
from landfast.thread_calls import finish

T = TypeVar("T")

_READS_ALREADY = "another coroutine"
"""asyncio's word for a handler that left a statement running on its connection."""


class SqlalchemyMysqlTransaction:
    """A LedgerTransaction, and what `reserving` decides with. It has a connection of the user's pool until it was
    committed or rolled back."""

    lane = None

    def __init__(
        self,
        target: Target,
        driving: Driving,
        gone: Callable[[], None],
        *,
        silence: float,
        seal: Seal,
        kill: Callable[[int], None],
    ) -> None:
        """`gone` is called when the connection is back in its pool. `kill` ends a connection at the server, by its
        number: one that is busy with a statement does not look whether its client is still there."""
        self.fence = Fence()
        self._target = target
        self._driving = driving
        self._gone = gone
        self._kill = kill
        self._silence = silence
        self._seal = seal
        self._joined = Joined(target.fenced, self.fence)
        self._raw: BlockingMysqlRaw | WaitingMysqlRaw | None = None
        self._ours: set[ReceiptKey] = set()
        self._before: lane_memory.Before = {}
        self._is_broken = False
        """Nobody answered, or a statement is still running: the connection is not to be used again."""
        self._is_committed = False
        self._is_over = False
        self._giving_back: asyncio.Future[None] | None = None

    async def begin(self, isolation: str) -> None:
        with own_statement():
            try:
                self._raw = await self._connect(isolation)
            except DBAPIError as error:
                # Once more where the pool's connection turns out to be dead: nothing has happened on it yet.
                if not error.connection_invalidated:
                    raise
                await self._driving.run(lambda: self._joined.close(is_broken=True))
                self.fence.has_begun = self.fence.has_ended = self._is_broken = False
                self._joined = Joined(self._target.fenced, self.fence)
                self._raw = await self._connect(isolation)

    async def reserve(
        self, keys: Sequence[ReceiptKey], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt | None]:
        with own_statement():
            answer = await reserving.reserve(self, keys, forced)
            await self._open().statements.execute(mysql_session.RELAX)
        return answer

    async def insert(self, receipts: Sequence[Receipt]) -> Collection[ReceiptKey]:
        inserted = await MysqlReceipts(self._open().statements, self._seal).insert(receipts)
        self._ours |= set(inserted)
        return inserted

    async def read(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        return await MysqlReceipts(self._open().statements, self._seal).read(digests)

    async def renew(self, digests: Sequence[ReceiptDigest]) -> None:
        await MysqlReceipts(self._open().statements, self._seal).renew(digests)

    async def scope(self) -> SessionScope:
        """Nothing to undo: MySQL has no settings that belong to a transaction."""
        handle = RawHandle(self._open(), self.fence, self._before_statement)
        return SessionScope(self._joined, self._driving, self._target, handle)

    async def mark(self, marks: Sequence[LaneMark]) -> Sequence[LanePlace | None]:
        return await self._locking(lambda statements: lane_memory.mark(statements, marks, self._before))

    async def lock_states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        return await self._locking(lambda statements: lane_memory.lock_states(statements, keys))

    async def move_states(self, states: Sequence[LaneState]) -> None:
        with own_statement():
            await lane_memory.move_states(self._open().statements, states)

    async def withdraw(self, keys: Sequence[ReceiptKey], *, reached: Sequence[LaneMark] = ()) -> None:
        self._examine()
        taken_back = [rows.key(key) for key in keys if key in self._ours]
        with own_statement():
            await change_all(self._open().statements, "receipts_withdraw", taken_back)
            await lane_memory.put_marks_back(self._open().statements, reached, self._before)

    async def holds(self, effect: ClaimedEffect) -> bool:
        with own_statement():
            return await held(self._open().statements, effect)

    async def check(self) -> None:
        self._examine()

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        self._examine()
        self.fence.end()
        raw = self._open()
        raw.cut_off()
        if raw.is_left_running:
            self.hang_up()
            raise control.left_running()
        try:
            meets = to_lock(effects, arrivals)
            ended = await self._locking(lambda each: mysql_arrivals.lock(each, effects, meets)) if meets else ()
            await store_all(raw.statements, self._seal, results, effects)
            await mysql_arrivals.end(raw.statements, ended, arrivals)
            await raw.end()
        except faults.ANY as error:
            self._is_broken = faults.is_gone(error)
            raise faults.before_commit(error) from error
        except RuntimeError as error:
            self._is_broken = True
            raise (control.left_running() if _READS_ALREADY in str(error) else error) from error
        # Crash before the server has the COMMIT on its disk: nothing happened, the event is claimed again. After it:
        # everything did, and the next claim finds the receipt.
        try:
            await self._driving.to_its_end(lambda: self._driving.inside(raw.commit()))
        except faults.ANY as error:
            self._is_broken = faults.is_gone(error)
            raise faults.at_commit(error) from error
        self._is_committed = True
        self._end()

    async def rollback(self) -> None:
        self._end()
        if self._giving_back is not None:
            # A cancelled caller goes, the rollback goes on: the connection must be given back.
            await asyncio.shield(self._giving_back)

    def hang_up(self) -> None:
        """From the loop, while a handler in the lane has overrun its deadline."""
        self._is_broken = True
        self.fence.lose(control.ended())
        if self._raw is not None:
            self._raw.hang_up()
            self._kill(self._raw.thread)

    async def _connect(self, isolation: str) -> BlockingMysqlRaw | WaitingMysqlRaw:
        driver = await self._driving.run(self._joined.connect)
        raw = (WaitingMysqlRaw if self._target.is_async else BlockingMysqlRaw)(driver, self.fence)
        self._driving.hang_up = raw.hang_up
        try:
            mysql_session.must_speak_all(raw.charset)
            # Through SQLAlchemy, which empties its pool if the connection is found dead.
            await self._driving.within(
                limits.ANSWER_WAIT, lambda: self._joined.first(mysql_session.lend(self._silence))
            )
            await raw.start(isolation)
        except BaseException:
            self._is_broken = True  # its settings are ours by now
            raw.close()
            raise
        self.fence.is_in_transaction = raw.is_in_transaction
        self.fence.before_statement = implicit.refuse
        return raw

    async def _locking(self, work: Callable[[Statements], Coroutine[Any, Any, T]]) -> T:
        statements = self._open().statements
        with own_statement():
            await statements.execute(mysql_session.WAIT)
            answer = await work(statements)
            await statements.execute(mysql_session.RELAX)
        return answer

    async def _before_statement(self, query: str) -> None:
        implicit.refuse(query)

    def _open(self) -> BlockingMysqlRaw | WaitingMysqlRaw:
        if self._raw is None or not self._joined.is_usable:
            raise LedgerUnavailableError("ledger: the connection of an open transaction is gone")
        return self._raw

    def _examine(self) -> None:
        if self._is_over:
            raise control.ended()
        raw = self._raw
        if raw is None or raw.is_gone():
            raise LedgerUnavailableError("ledger: the server closed the connection of an open transaction")
        self._joined.check()
        if not raw.is_in_transaction():
            raise self.fence.lose(control.ended_by_handler())

    def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self.fence.end()
        if self._raw is not None:
            self._raw.cut_off()
        if not self._driving.blocks:
            self._giving_back = asyncio.create_task(self._give_back())
        else:
            finish(self._give_back())  # in its thread, where nothing is awaited

    async def _give_back(self) -> None:
        try:
            await self._driving.until_quiet()
            await self._tidy_up()
            await self._close()
        finally:
            if self._raw is not None:
                self._raw.close()
            self._gone()

    async def _tidy_up(self) -> None:
        """The connection as it was, for whoever gets it next."""
        raw = self._raw
        if raw is None:
            return
        if raw.is_gone() or not self._joined.is_usable:
            self._is_broken = True
            if raw.was_cut:
                self._kill(raw.thread)
        if not self._is_broken:
            try:
                await raw.roll_back()
                await raw.statements.execute(mysql_session.RESTORE)
            except (RuntimeError, *faults.ANY):  # the server rolls back for who hangs up
                self._is_broken = True
        raw.take_back()
        if self._is_committed and not self._is_broken:
            # It is done, and this is only so that SQLAlchemy knows, and says so to whoever listens to it.
            with contextlib.suppress(SQLAlchemyError, OSError):
                await self._driving.within(limits.ANSWER_WAIT, self._joined.commit)

    async def _close(self) -> None:
        try:
            await self._driving.within(limits.ANSWER_WAIT, lambda: self._joined.close(is_broken=self._is_broken))
        except TimeoutError:
            await self._driving.run(lambda: self._joined.close(is_broken=True))

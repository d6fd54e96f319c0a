"""The receipt-first transaction on SQLite: BEGIN IMMEDIATE ... COMMIT, one at a time in this process."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from landfast.domain.arrival import Arrived
from landfast.domain.effect import HELD, ClaimedEffect, StagedEffect
from landfast.domain.errors import CommitRefusedError, CommitUnknownError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, MarkKey, StateKey, highest, put_back
from landfast.domain.micros import micros
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import boxes, control, reserving
from landfast.ledgers.sqlite import arrivals as sqlite_arrivals
from landfast.ledgers.sqlite import faults, lane_memory, rows
from landfast.ledgers.sqlite.handle import SqliteHandle
from landfast.ledgers.sqlite.thread import MOVED, ConnectionThread
from landfast.ports.clock import Clock
from landfast.sealing import Seal

T = TypeVar("T")


class SqliteTransaction:
    """A LedgerTransaction. It owns the writer's lock from `begin` until it was committed or rolled back."""

    def __init__(self, thread: ConnectionThread, lock: asyncio.Lock, clock: Clock, seal: Seal) -> None:
        self._thread = thread
        self._lock = lock
        self._clock = clock
        self._seal = seal
        self._handle = SqliteHandle(thread)
        self._ours: set[ReceiptKey] = set()
        self._before: dict[MarkKey, LanePlace | None] = {}
        """Where the marks were that this transaction has moved."""
        self._over = False
        self._rolling_back: asyncio.Task[None] | None = None

    @property
    def lane(self) -> None:
        return None

    async def begin(self) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(rows.SQL["guard"])

        await self._own(work)

    async def reserve(
        self, keys: Sequence[ReceiptKey], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt | None]:
        return await reserving.reserve(self, keys, forced)

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        return await reserving.bury(self, tombstones, forced)

    async def insert(self, receipts: Sequence[Receipt]) -> Collection[ReceiptKey]:
        now = micros(self._clock.now())
        sealed = boxes.seal_receipts(self._seal, receipts)

        def work(connection: sqlite3.Connection) -> set[ReceiptKey]:
            if sealed is not receipts:
                rows.add_store_key(connection, self._seal)
            return rows.insert_receipts(connection, sealed, now)

        inserted = await self._own(work)
        self._ours |= inserted
        return inserted

    async def read(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        return await self._own(lambda connection: rows.read_receipts(connection, digests, self._seal))

    async def renew(self, digests: Sequence[ReceiptDigest]) -> None:
        named = [{"digest": digest, "now": micros(self._clock.now())} for digest in digests]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(rows.SQL["receipts_renew"], named)

        await self._own(work)

    async def scope(self) -> SqliteHandle:
        """Nothing to undo: SQLite has no settings that belong to a transaction."""
        self._handle.used = False
        return self._handle

    async def mark(self, marks: Sequence[LaneMark]) -> Sequence[LanePlace | None]:
        places, now = highest(marks), micros(self._clock.now())
        before = await self._own(lambda connection: lane_memory.move_marks(connection, places, now))
        self._before = before | self._before
        return [self._before[mark.lane, mark.handler] for mark in marks]

    async def lock_states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        """The writer's lock is theirs."""
        return await self._own(lambda connection: lane_memory.read_states(connection, keys))

    async def move_states(self, states: Sequence[LaneState]) -> None:
        now = micros(self._clock.now())
        await self._own(lambda connection: lane_memory.move_states(connection, states, now))

    async def withdraw(self, keys: Sequence[ReceiptKey], *, reached: Sequence[LaneMark] = ()) -> None:
        taken_back = [rows.key(key) for key in keys if key in self._ours]
        places = put_back(self._before, reached)

        def work(connection: sqlite3.Connection) -> None:
            # Outside of our transaction this would delete what somebody else has committed meanwhile.
            self._examine(connection)
            connection.executemany(rows.SQL["receipts_withdraw"], taken_back)
            lane_memory.put_marks_back(connection, places)

        await self._own(work)

    async def holds(self, effect: ClaimedEffect) -> bool:
        """Whoever would erase it waits for the writer's lock."""
        named = {"key": effect.staged.key, "run": effect.staged.run, "token": effect.token, "held": HELD}
        found = await self._own(lambda connection: connection.execute(rows.SQL["effects_held"], named).fetchone())
        return found is not None

    async def check(self) -> None:
        await self._own(self._examine)

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        self._handle.end()
        now = micros(self._clock.now())
        results, effects = boxes.seal_results(self._seal, results), boxes.seal_effects(self._seal, effects)

        def prepare(connection: sqlite3.Connection) -> None:
            self._examine(connection)
            if not self._thread.is_in_place():
                raise sqlite3.OperationalError(MOVED)
            if results or effects:
                rows.add_store_key(connection, self._seal)
            connection.executemany(rows.SQL["receipts_result"], (rows.result(key, value) for key, value in results))
            sqlite_arrivals.stage(connection, effects, arrivals, now)
            connection.execute(rows.SQL["guard_delete"])

        await self._own(prepare)
        # Crash before the COMMIT is in the log: nothing happened, the event is claimed again. After it: everything
        # did, and the next claim finds the receipt.
        try:
            await self._commit_now()
        except sqlite3.Error as error:
            raise _refused(error) from error
        except asyncio.CancelledError as error:
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error
        self._give_back()

    async def rollback(self) -> None:
        if not self._over and self._rolling_back is None:
            self._rolling_back = asyncio.create_task(self._roll_back())
        if self._rolling_back is not None:
            # A cancelled caller goes, the rollback goes on: the writer's lock must be given back.
            await asyncio.shield(self._rolling_back)

    async def _own(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a statement of Landfast's own: whatever is wrong with it is not the handler's fault."""
        if self._over:
            raise control.ended()
        try:
            return await self._thread.run(work)
        except sqlite3.Error as error:
            raise faults.own(error) from error

    def _examine(self, connection: sqlite3.Connection) -> None:
        self._handle.examine()
        (guards,) = connection.execute(rows.SQL["guard_check"]).fetchone()
        if guards != 1:
            raise control.ended_by_handler()

    async def _roll_back(self) -> None:
        self._handle.end()
        try:
            # A connection that cannot roll back has lost its transaction already.
            with contextlib.suppress(sqlite3.Error):
                await self._finish(rows.roll_back)
        finally:
            self._give_back()

    async def _commit_now(self) -> None:
        await self._finish(lambda connection: connection.execute("COMMIT"))

    async def _finish(self, end: Callable[[sqlite3.Connection], object]) -> None:
        if self._handle.lent:
            # A function that outlives its transaction would write into the next event's.
            await self._thread.take_back(end)
        else:
            await self._thread.run(end)

    def _give_back(self) -> None:
        self._over = True
        self._handle.end()
        self._lock.release()


def _refused(error: sqlite3.Error) -> CommitRefusedError | CommitUnknownError:
    if faults.code(error) == sqlite3.SQLITE_IOERR:
        # The log may hold the COMMIT without a proof that it reached the disk: a crash from here decides either way.
        return CommitUnknownError(f"ledger: the disk failed during COMMIT ({error})")
    return CommitRefusedError(f"ledger: COMMIT was refused ({error})")

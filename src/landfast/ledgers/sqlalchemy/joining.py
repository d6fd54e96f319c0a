"""Transactions on the user's engine: begun on the loop or in a lane, and what is watched while they are open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from landfast.ledgers import limits
from landfast.ledgers.lane import Lanes
from landfast.ledgers.sqlalchemy.driving import Driving, InALane, OnTheLoop
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlalchemy.noticing import RUNNING, Noticing
from landfast.ledgers.sqlalchemy.one_trip import OneTripTransaction
from landfast.ledgers.sqlalchemy.scoped import Scoped
from landfast.ledgers.sqlalchemy.target import Target
from landfast.ports.ledger import LedgerTransaction


@dataclass(frozen=True, slots=True)
class Made:
    """A transaction that has not begun yet."""

    transaction: LedgerTransaction
    begin: Callable[[], Coroutine[Any, Any, None]]
    hang_up: Callable[[], None]
    fence: Fence
    begins_with_receipts: bool = False
    """Nobody has to hear of a failure before that, and a trip to the lane is saved."""


Makes = Callable[[Driving, Callable[[], None]], Made]
"""How it is driven, and what to call when its connection is back in the pool."""


class Joining:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._lanes = Lanes("landfast-handler")
        self._scoped = Scoped(target.scoped)
        self._noticing = Noticing(target.engine, has_one_writer=target.database == "sqlite")
        self._lent: set[asyncio.Future[None]] = set()
        """One for each connection of this loop's that a transaction has, until it is back in its pool."""

    def open(self) -> None:
        self._target.leave_to_parent()
        self._lanes = Lanes("landfast-handler")
        self._noticing.start()
        self._scoped.start()

    async def close(self) -> None:
        """Idle connections of the pool are closed: those of asyncio belong to this loop, which may be about to end. The
        pool itself goes on, and makes new ones for whoever wants them. A transaction that has just ended gives its
        connection back after its caller went on: whoever does not wait for that leaves the connection open for good."""
        self._lanes.close()
        self._noticing.stop()
        self._scoped.stop()
        engine = self._target.engine
        if self._target.is_async:
            if self._lent:
                await asyncio.wait(self._lent, timeout=limits.ANSWER_WAIT)
            await OnTheLoop().run(engine.dispose)
        else:
            engine.dispose()

    async def begin(self, make: Makes, release: Callable[[], None]) -> LedgerTransaction:
        """`release` is called once, on the loop, when the connection is back in its pool."""
        return await (self._on_the_loop if self._target.is_async else self._in_a_lane)(make, release)

    async def _on_the_loop(self, make: Makes, release: Callable[[], None]) -> LedgerTransaction:
        lent = asyncio.get_running_loop().create_future()
        self._lent.add(lent)

        def is_back() -> None:
            self._lent.discard(lent)
            lent.set_result(None)
            release()

        made = make(OnTheLoop(), is_back)
        RUNNING.set(made.fence)
        try:
            await made.begin()
        except BaseException:
            await made.transaction.rollback()
            raise
        return made.transaction

    async def _in_a_lane(self, make: Makes, release: Callable[[], None]) -> LedgerTransaction:
        lane = self._lanes.take()
        made = make(InALane(), lambda: None)
        RUNNING.set(made.fence)
        transaction = OneTripTransaction(
            made.transaction, lane, self._lanes, hang_up=made.hang_up, begin=made.begin, gone=release
        )
        if made.begins_with_receipts:
            return transaction
        try:
            await transaction.begin()
        except BaseException:
            await transaction.rollback()
            raise
        return transaction

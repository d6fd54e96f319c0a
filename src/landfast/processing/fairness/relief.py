"""Relief for a hand that is held up by a slow handler: what else it holds goes on without it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from landfast.processing.execute import Execution
from landfast.processing.fairness.hand_pool import HandPool
from landfast.processing.fairness.shares import Hold, Shares
from landfast.processing.settle import Settler

SLOW_AFTER_SECONDS = 0.3
"""Seconds. Beyond what a claim of quick events takes on a busy machine, so that nothing is given back in vain; short
enough that an event that was claimed with a slow one does not wait much longer than others. On SQLite it can be claimed
again at once, on PostgreSQL within another second: what is given back lies below the place from which workers look on,
and they look below it once a second."""


class Relief:
    def __init__(self, execution: Execution, shares: Shares, pool: HandPool, settler: Settler) -> None:
        self._execution = execution
        self._shares = shares
        self._pool = pool
        self._settler = settler
        self.slow_after = SLOW_AFTER_SECONDS
        self._timers: dict[Hold, asyncio.TimerHandle] = {}
        self._slow: list[Hold] = []
        self._rang = asyncio.Event()

    @contextmanager
    def of(self, hold: Hold) -> Iterator[None]:
        """While the claim in this hand is executed."""
        self._set(hold)
        try:
            yield
        finally:
            self._timers.pop(hold).cancel()
            if hold.slow:
                self._pool.comes_back()

    async def run(self) -> None:
        """Let go of what slow hands hold, as they turn out to be slow: side by side, because a ledger that is slow to
        answer for one of them must not keep the others' events."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._rang.wait()
                self._rang.clear()
                while self._slow:
                    tasks.create_task(self._let_go(self._slow.pop()))

    async def _let_go(self, hold: Hold) -> None:
        self._settler.add(await self._execution.let_go(hold))
        self._pool.call()

    def _set(self, hold: Hold) -> None:
        self._timers[hold] = asyncio.get_running_loop().call_later(self.slow_after, self._ring, hold)

    def _ring(self, hold: Hold) -> None:
        # Again and again: a handler that was cut off at its deadline may be followed by the next slow one.
        self._set(hold)
        if hold.handler is None:
            return
        if not hold.slow:
            self._pool.leaves()
        self._shares.is_slow(hold, hold.handler)
        self._slow.append(hold)
        self._rang.set()

"""Keeps the intake and worker processes alive, and takes them down in order.

The supervisor answers no webhook and runs no handler. If it dies, its children stop; if one of them dies, it starts
another. Nothing depends on it for correctness: a dead worker's claims expire by themselves; it only makes that
immediate.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from landfast import telemetry
from landfast.domain.ids import WorkerId
from landfast.ports.clock import Chance, Clock
from landfast.processes.child import Child
from landfast.processes.lifeline import GRACE

SETTLED = 10.0
"""Seconds. A child that lived longer did not die of its start: the next one follows without the grown delay."""
FIRST_DELAY = 0.1
LONGEST_DELAY = 15.0
"""Seconds. Often enough to be back soon after the cause is gone, too rarely to be a load while it is not."""
ABANDON_WITHIN = 5.0
"""Seconds to give back a dead worker's claims. A store that takes longer is down; the leases expire anyway."""
USER_ERROR = 2
"""The exit code of a child that has told its user what to fix."""

Role = Literal["intake", "worker"]
_INTAKE: list[Role] = ["intake"]
_WORKER: list[Role] = ["worker"]


@dataclass(frozen=True, slots=True)
class News:
    """What became of a child."""

    what: Literal["started", "ready", "ended"]
    role: Role
    pid: int
    code: int | None = None


class Supervisor:
    def __init__(
        self,
        *,
        intakes: int,
        workers: int,
        start: Callable[[Role, WorkerId], Awaitable[Child]],
        abandon: Callable[[WorkerId], Awaitable[None]],
        clock: Clock,
        chance: Chance,
        tell: Callable[[News], None],
        grace: float = GRACE,
        patient: bool = False,
    ) -> None:
        """`abandon` gives back what a dead worker had claimed. `patient`: an application that does not start is waited
        for until it changes, because its author is typing."""
        self._roles: list[Role] = [*(intakes * _INTAKE), *(workers * _WORKER)]
        self._start = start
        self._abandon = abandon
        self._clock = clock
        self._chance = chance
        self._tell = tell
        self._grace = grace
        self._patient = patient
        self._children: set[Child] = set()
        self._unready = set(range(len(self._roles)))
        self._roused = asyncio.Event()
        self._is_stopping = False
        self._is_killing = False
        self._exit_code = 0
        self.is_up = asyncio.Event()
        """Each of them has been ready once."""

    @property
    def alive(self) -> int:
        """How many processes there are now."""
        return len(self._children)

    async def run(self) -> int:
        """Until `stop`, and then until the last child has ended; the exit code."""
        try:
            await asyncio.gather(*(self._keep(slot, role) for slot, role in enumerate(self._roles)))
        finally:
            self.kill()
        return self._exit_code

    def stop(self) -> None:
        """Let everyone finish what is in flight, for as long as the grace lasts."""
        if not self._is_stopping:
            self._is_stopping = True
            asyncio.get_running_loop().call_later(self._grace, self.kill)
        self.reload()

    def reload(self) -> None:
        """Replace every child by one that reads the application afresh."""
        for child in self._children:
            child.dismiss()
        self._roused.set()
        self._roused = asyncio.Event()

    def kill(self) -> None:
        self._is_stopping = self._is_killing = True
        for child in self._children:
            child.kill()
        self._roused.set()

    async def _keep(self, slot: int, role: Role) -> None:
        """Keep one slot filled."""
        failures = 0
        while not self._is_stopping:
            born = self._clock.monotonic()
            child, code = await self._live(slot, role)
            if child is not None and child.is_dismissed:
                failures = 0
                continue
            if code == USER_ERROR and slot in self._unready and not self._patient:
                self._exit_code = USER_ERROR
                self.stop()
                return
            failures = 1 if self._clock.monotonic() - born > SETTLED else failures + 1
            if not self._is_stopping:
                is_hopeless = self._patient and child is not None and not child.is_ready
                await self._pause(None if is_hopeless else min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 20)))

    async def _live(self, slot: int, role: Role) -> tuple[Child | None, int | None]:
        """One child's life, from its start until its claims are given back."""
        worker = WorkerId(self._chance.bytes(8))
        try:
            child = await self._start(role, worker)
        except OSError as error:  # out of processes, memory or descriptors: it may pass
            telemetry.error("cannot start a process", role=role, error=error)
            return None, None
        self._children.add(child)
        self._tell(News("started", role, child.pid))
        if self._is_stopping:
            (child.kill if self._is_killing else child.dismiss)()
        greeting = asyncio.create_task(self._greet(slot, role, child))
        code = await child.wait()
        await asyncio.wait([greeting], timeout=1)  # the word may still be on its way
        greeting.cancel()
        self._children.discard(child)
        self._tell(News("ended", role, child.pid, code))
        if role == "worker" and code != 0:
            await self._give_back(worker)
        return child, code

    async def _greet(self, slot: int, role: Role, child: Child) -> None:
        if await child.wait_ready():
            self._tell(News("ready", role, child.pid))
            self._unready.discard(slot)
            if not self._unready:
                self.is_up.set()

    async def _give_back(self, worker: WorkerId) -> None:
        # Die before this, or fail in it, and the claims expire when their leases do.
        try:
            async with asyncio.timeout(ABANDON_WITHIN):
                await self._abandon(worker)
        except Exception as error:  # noqa: BLE001 - whatever it was, the next worker must start
            telemetry.warn("could not give back a dead worker's claims; they expire by themselves", error=repr(error))

    async def _pause(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._roused.wait()

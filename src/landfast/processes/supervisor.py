"""Keeps the intake, worker and drainer processes alive, replaces them one by one, and takes them down in order.

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
from landfast.processes.ending import TRY_AGAIN, USER_ERROR
from landfast.processes.lifeline import GRACE

SETTLED = 10.0
"""Seconds. A child that lived longer did not die of its start: the next one follows without the grown delay."""
FIRST_DELAY = 0.1
LONGEST_DELAY = 15.0
"""Seconds. Often enough to be back soon after the cause is gone, too rarely to be a load while it is not."""
ABANDON_WITHIN = 5.0
"""Seconds to give back a dead worker's claims. A store that takes longer is down; the leases expire anyway."""
READY_WITHIN = 60.0
"""Seconds for a successor to be ready: an application imports and connects in a few, on a busy machine in some more."""

Role = Literal["intake", "worker", "drainer"]


@dataclass(frozen=True, slots=True)
class News:
    """What became of a child."""

    what: Literal["started", "ready", "ended"]
    role: Role
    pid: int
    code: int | None = None


@dataclass(frozen=True, slots=True)
class _Life:
    """One child's, from its start until its claims are given back."""

    child: Child
    greeted: asyncio.Task[None]
    """Ends when it is ready, or can never be."""
    ended: asyncio.Task[int]


class Supervisor:
    def __init__(
        self,
        *,
        intakes: int,
        workers: int,
        drainers: int = 0,
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
        numbers: list[tuple[Role, int]] = [("intake", intakes), ("worker", workers), ("drainer", drainers)]
        self._roles: list[Role] = [role for role, number in numbers for _ in range(number)]
        self._start = start
        self._abandon = abandon
        self._clock = clock
        self._chance = chance
        self._tell = tell
        self._grace = grace
        self._patient = patient
        self._children: set[Child] = set()
        self._lives: dict[int, _Life] = {}
        """Who fills each slot now, or did last."""
        self._successors: dict[int, _Life] = {}
        """Who is ready to, when that one has ended."""
        self._unready = set(range(len(self._roles)))
        self._roused = asyncio.Event()
        self._is_stopping = False
        self._is_killing = False
        self._exit_code = 0
        self.is_up = asyncio.Event()
        """Each of them has been ready once, or waits for a database that is away."""

    @property
    def alive(self) -> int:
        """How many processes there are now."""
        return len(self._children)

    async def run(self) -> int:
        """Until `stop`, and then until the last child has ended; the exit code."""
        try:
            await asyncio.gather(*(self._keep(slot, role) for slot, role in enumerate(self._roles)))
            # One that was about to replace another finishes what it has in hand, like all the others.
            await asyncio.gather(*(life.ended for life in self._successors.values()))
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
        """Replace every child, all at once, by one that reads the application afresh."""
        for child in self._children:
            child.dismiss()
        self._rouse()

    async def replace(self) -> bool:
        """Replace them one after the other; each is dismissed when its successor is ready, so that there is always an
        intake. False when one did not get ready: it and those after it stay as they are."""
        # The intakes last: an event of a source that is new finds workers that know its handler.
        for slot in sorted(range(len(self._roles)), key=lambda slot: self._roles[slot] == "intake"):
            if self._is_stopping or not await self._succeed(slot):
                return False
        return True

    def kill(self) -> None:
        self._is_stopping = self._is_killing = True
        for child in self._children:
            child.kill()
        self._roused.set()

    async def _keep(self, slot: int, role: Role) -> None:
        """Keep one slot filled."""
        failures = 0
        while not self._is_stopping:
            born, roused = self._clock.monotonic(), self._roused
            life = self._successors.pop(slot, None) or await self._begin(slot, role)
            code = None
            if life is not None:
                self._lives[slot] = life
                if slot in self._successors:  # it came while this one was being started
                    life.child.dismiss()
                code = await life.ended
                if life.child.is_dismissed:
                    failures = 0
                    continue
            if code == USER_ERROR and slot in self._unready and not self._patient:
                self._exit_code = USER_ERROR
                self.stop()
                return
            if code == TRY_AGAIN:
                self._is_there(slot)
            failures = 1 if self._clock.monotonic() - born > SETTLED else failures + 1
            if not self._is_stopping:
                is_hopeless = self._patient and life is not None and not life.child.is_ready
                delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 20))
                await self._pause(None if is_hopeless else delay, roused)

    async def _succeed(self, slot: int) -> bool:
        """Have a new child ready, then dismiss the old one and see it off."""
        life = await self._begin(slot, self._roles[slot])
        if life is None:
            return False
        await asyncio.wait([life.greeted], timeout=READY_WITHIN)
        if life.child.is_ready:
            self._successors[slot] = life
        else:
            life.child.kill()
            # A database that is away is no reason to break off: the intakes may have new secrets to take up. The slot
            # then tries again, in the new way. An intake goes on in the old one, and answers 503 until it is back.
            if await life.ended != TRY_AGAIN or self._roles[slot] == "intake":
                return False
        old = self._lives[slot]
        old.child.dismiss()
        self._rouse()  # the old one may be dead, and its slot waiting to try again
        await asyncio.wait([old.ended], timeout=self._grace)
        old.child.kill()
        return True

    async def _begin(self, slot: int, role: Role) -> _Life | None:
        worker = WorkerId(self._chance.bytes(8))
        try:
            child = await self._start(role, worker)
        except OSError as error:  # out of processes, memory or descriptors: it may pass
            telemetry.error("cannot start a process", role=role, error=error)
            return None
        self._children.add(child)
        self._tell(News("started", role, child.pid))
        if self._is_stopping:
            (child.kill if self._is_killing else child.dismiss)()
        greeted = asyncio.create_task(self._greet(slot, role, child))
        return _Life(child, greeted, asyncio.create_task(self._see_off(role, worker, child, greeted)))

    async def _greet(self, slot: int, role: Role, child: Child) -> None:
        if await child.wait_ready():
            self._tell(News("ready", role, child.pid))
            self._is_there(slot)

    async def _see_off(self, role: Role, worker: WorkerId, child: Child, greeted: asyncio.Task[None]) -> int:
        """Wait for its end; the exit code."""
        code = await child.wait()
        await asyncio.wait([greeted], timeout=1)  # the word may still be on its way
        greeted.cancel()
        self._children.discard(child)
        self._tell(News("ended", role, child.pid, code))
        if role == "worker" and code != 0:
            await self._give_back(worker)
        return code

    def _is_there(self, slot: int) -> None:
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

    async def _pause(self, seconds: float | None, roused: asyncio.Event) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await roused.wait()

    def _rouse(self) -> None:
        self._roused.set()
        self._roused = asyncio.Event()

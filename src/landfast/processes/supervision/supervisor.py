"""Keeps the intake, worker and drainer processes alive, replaces them one by one, and takes them down in order.

The supervisor answers no webhook and runs no handler. If it dies, its children stop; if one of them dies, it starts
another. Nothing depends on it for correctness: a dead worker's claims expire by themselves; it only makes that
immediate.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial

from landfast.domain.ids import WorkerId
from landfast.ports.clock import Chance, Clock
from landfast.processes.children.exit_codes import TRY_AGAIN, USER_ERROR
from landfast.processes.children.lifeline import GRACE_SECONDS
from landfast.processes.supervision.admin_keeper import AdminKeeper
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.lives import Life, Lives, News, ProcessKind, Role
from landfast.processes.supervision.suspects import SuspectsKeeper

SETTLED_SECONDS = 10.0
"""Seconds. A child that lived longer did not die of its start: the next one follows without the grown delay."""
FIRST_RESTART_SECONDS = 0.1
LONGEST_RESTART_SECONDS = 15.0
"""Seconds. Often enough to be back soon after the cause is gone, too rarely to be a load while it is not."""
READY_SECONDS = 60.0
"""Seconds for a successor to be ready: an application imports and connects in a few, on a busy machine in some more."""


class Supervisor:
    def __init__(
        self,
        *,
        intakes: int,
        workers: int,
        drainers: int = 0,
        start: Callable[[ProcessKind, WorkerId], Awaitable[Child]],
        abandon: Callable[[WorkerId], Awaitable[int]],
        clock: Clock,
        chance: Chance,
        tell: Callable[[News], None],
        grace: float = GRACE_SECONDS,
        patient: bool = False,
        keeps_suspects: bool = False,
    ) -> None:
        """`abandon` gives back what a dead worker had claimed; how many that were. `patient`: an application that does
        not start is waited for until it changes, because its author is typing. `keeps_suspects`: it has a process for
        them as long as workers say that there are any."""
        numbers: list[tuple[Role, int]] = [("intake", intakes), ("worker", workers), ("drainer", drainers)]
        self._roles: list[Role] = [role for role, number in numbers for _ in range(number)]
        self._all = Lives(start=start, abandon=abandon, chance=chance, tell=tell)
        self._suspects = SuspectsKeeper(self._all, grace=grace)
        self._admin = AdminKeeper(self._all)
        if keeps_suspects:
            self._all.on_suspects = self._suspects.want
        self._clock = clock
        self._grace = grace
        self._patient = patient
        self._lives: dict[int, Life] = {}
        """Who fills each slot now, or did last."""
        self._successors: dict[int, Life] = {}
        """Who is ready to, when that one has ended."""
        self._unready = set(range(len(self._roles)))
        self._roused = asyncio.Event()
        self._is_stopping = False
        self._exit_code = 0
        self.is_up = asyncio.Event()
        """Each of them has been ready once, or waits for a database that is away."""

    @property
    def alive(self) -> int:
        """How many processes there are now."""
        return len(self._all)

    async def run(self) -> int:
        """Until `stop`, and then until the last child has ended; the exit code."""
        try:
            await asyncio.gather(*(self._keep(slot, role) for slot, role in enumerate(self._roles)))
            # One that was about to replace another finishes what it has in hand, like all the others.
            await asyncio.gather(*(life.ended for life in self._successors.values()), self._suspects.wait())
            await self._admin.wait()
        finally:
            self.kill()
        return self._exit_code

    def stop(self) -> None:
        """Let everyone finish what is in flight, for as long as the grace lasts."""
        if not self._is_stopping:
            self._is_stopping = True
            asyncio.get_running_loop().call_later(self._grace, self.kill)
        self._suspects.stop()
        self._admin.stop()
        self._all.stop()
        self._rouse()

    def keep_admin(self) -> None:
        """Have a process for operators, too, from now on."""
        if not self._is_stopping:
            self._admin.want()

    def reload(self) -> None:
        """Replace every child, all at once, by one that reads the application afresh."""
        self._all.dismiss()
        self._rouse()

    async def replace(self) -> bool:
        """Replace them one after the other; each is dismissed when its successor is ready, so that there is always an
        intake. False when one did not get ready: it and those after it stay as they are."""
        self._suspects.renew()
        self._admin.renew()
        # The intakes last: an event of a source that is new finds workers that know its handler.
        for slot in sorted(range(len(self._roles)), key=lambda slot: self._roles[slot] == "intake"):
            if self._is_stopping or not await self._succeed(slot):
                return False
        return True

    def kill(self) -> None:
        self._is_stopping = True
        self._suspects.stop()
        self._admin.stop()
        self._all.kill()
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
            failures = 1 if self._clock.monotonic() - born > SETTLED_SECONDS else failures + 1
            if not self._is_stopping:
                is_hopeless = self._patient and life is not None and not life.child.is_ready
                delay = min(LONGEST_RESTART_SECONDS, FIRST_RESTART_SECONDS * 2 ** min(failures - 1, 20))
                await self._pause(None if is_hopeless else delay, roused)

    async def _succeed(self, slot: int) -> bool:
        """Have a new child ready, then dismiss the old one and see it off."""
        life = await self._begin(slot, self._roles[slot])
        if life is None:
            return False
        await asyncio.wait([life.greeted], timeout=READY_SECONDS)
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

    async def _begin(self, slot: int, role: Role) -> Life | None:
        return await self._all.begin(role, is_there=partial(self._is_there, slot))

    def _is_there(self, slot: int) -> None:
        self._unready.discard(slot)
        if not self._unready:
            self.is_up.set()

    async def _pause(self, seconds: float | None, roused: asyncio.Event) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await roused.wait()

    def _rouse(self) -> None:
        self._roused.set()
        self._roused = asyncio.Event()

"""The processes of a supervisor, each from its start until what it had claimed is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from landfast import telemetry
from landfast.domain.ids import WorkerId
from landfast.ports.clock import Chance
from landfast.processes.supervision.child import Child

GIVE_BACK_SECONDS = 5.0
"""Seconds to give back a dead worker's claims. A store that takes longer is down; the leases expire anyway."""

LAST_WORD_SECONDS = 1.0
"""For what a process said before its end and we have not heard yet. A lifeline that somebody holds open whom it started
itself has no end of its own."""

Role = Literal["intake", "worker", "drainer"]
"""What a machine can be told to run."""

ProcessKind = Role | Literal["suspects", "admin"]

CLAIMING: frozenset[ProcessKind] = frozenset({"worker", "suspects"})


@dataclass(frozen=True, slots=True)
class News:
    """What became of a child."""

    what: Literal["started", "ready", "ended"]
    role: ProcessKind
    pid: int
    code: int | None = None


def log(news: News) -> None:
    if news.what == "ended" and news.code != 0:
        telemetry.warn("process_ended", role=news.role, pid=news.pid, code=news.code)
    elif news.what == "ready":
        telemetry.info("process_ready", role=news.role, pid=news.pid)


@dataclass(slots=True)
class Life:
    child: Child
    greeted: asyncio.Task[None]
    """Ends when it is ready, or can never be."""
    ended: asyncio.Task[int] = field(init=False)
    """With its exit code."""
    left_behind: int = 0
    """What it had claimed when it died."""


class Lives:
    def __init__(
        self,
        *,
        start: Callable[[ProcessKind, WorkerId], Awaitable[Child]],
        abandon: Callable[[WorkerId], Awaitable[int]],
        chance: Chance,
        tell: Callable[[News], None],
    ) -> None:
        """`abandon` gives back what a dead worker had claimed; how many that were."""
        self._start = start
        self._abandon = abandon
        self._chance = chance
        self._tell = tell
        self._children: set[Child] = set()
        self._is_stopping = False
        self._is_killing = False
        self.on_suspects: Callable[[], None] = lambda: None
        """Called when a worker says that there are suspects, or has left some behind."""

    def __len__(self) -> int:
        return len(self._children)

    async def begin(self, kind: ProcessKind, is_there: Callable[[], None] = lambda: None) -> Life | None:
        """Start one; None when that is not possible now. `is_there` is called when it is ready."""
        worker = WorkerId(self._chance.bytes(8))
        try:
            child = await self._start(kind, worker)
        except OSError as error:  # out of processes, memory or descriptors: it may pass
            telemetry.error("process_not_started", role=kind, error=error)
            return None
        self._children.add(child)
        self._tell(News("started", kind, child.pid))
        if self._is_stopping:
            (child.kill if self._is_killing else child.dismiss)()
        life = Life(child, asyncio.create_task(self._greet(kind, child, is_there)))
        life.ended = asyncio.create_task(self._see_off(kind, worker, life))
        return life

    def stop(self) -> None:
        self._is_stopping = True
        self.dismiss()

    def dismiss(self) -> None:
        for child in self._children:
            child.dismiss()

    def kill(self) -> None:
        self._is_stopping = self._is_killing = True
        for child in self._children:
            child.kill()

    async def _greet(self, kind: ProcessKind, child: Child, is_there: Callable[[], None]) -> None:
        if await child.wait_ready():
            self._tell(News("ready", kind, child.pid))
            is_there()

    async def _see_off(self, kind: ProcessKind, worker: WorkerId, life: Life) -> int:
        """Listen to it until its end; the exit code."""
        hearing = [life.greeted, asyncio.create_task(self._listen(life))]
        try:
            code = await life.child.wait()
            await asyncio.wait(hearing, timeout=LAST_WORD_SECONDS)
        finally:
            for task in hearing:
                task.cancel()
            await asyncio.gather(*hearing, return_exceptions=True)
            life.child.close()
        self._children.discard(life.child)
        self._tell(News("ended", kind, life.child.pid, code))
        if kind in CLAIMING and code != 0:
            life.left_behind = await self._give_back(worker)
            if life.left_behind:
                self.on_suspects()
        return code

    async def _listen(self, life: Life) -> None:
        await asyncio.wait([life.greeted])
        while await life.child.hear_of_suspects():
            self.on_suspects()

    async def _give_back(self, worker: WorkerId) -> int:
        # Die before this, or fail in it, and the claims expire when their leases do.
        try:
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                return await self._abandon(worker)
        except Exception as error:  # noqa: BLE001 - whatever it was, the next worker must start
            telemetry.warn("claims_not_given_back", error=repr(error))
            return 0

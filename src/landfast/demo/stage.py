"""What is on: the storm that is played, who looks at it on the page, and when the next worker is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Literal

from landfast.demo.play import KILLS, Score, Theatre, play
from landfast.demo.sender import EVENT
from landfast.domain.errors import UserError
from landfast.recovery.proof import Proof

LOOKS_SECONDS = 45.0
"""After which nobody looks any more. An open page comes again twice a second, if the machine is not busy."""

PRESS_SECONDS = 120.0
"""For whoever looks to kill the worker by hand. Then the storm goes on by itself."""

Phase = Literal["waiting", "storm", "over", "failed"]


class Stage:
    def __init__(self, theatre: Theatre, deliveries: int) -> None:
        self.theatre = theatre
        self.deliveries = deliveries
        self.score = Score(deliveries)
        """Of the storm that is on, or of the last one."""
        self.phase: Phase = "waiting"
        self.began = self.ended = 0.0
        self.kills_at: float | None = None
        """When the worker is killed if nobody does it by hand; None while that is not the question."""
        self.turn = asyncio.Lock()
        """One thing at a time: a storm, or what a key does."""
        self.is_seen = asyncio.Event()
        """Somebody has opened the page."""
        self._storms = 0
        self._seen_at = float("-inf")
        self._pressed = asyncio.Event()
        self._playing: asyncio.Task[None] | None = None

    def see(self) -> None:
        """Somebody looks at the page."""
        self._seen_at = time.monotonic()
        self.is_seen.set()

    async def storm(self, show: Callable[[Score], None]) -> tuple[Score, Proof]:
        async with self.turn:
            self._storms += 1
            event = EVENT if self._storms == 1 else f"evt_storm_{self._storms}"
            self.score = Score(self.deliveries, event)
            self._pressed.clear()
            self.phase, self.began = "storm", time.monotonic()
            try:
                await play(self.theatre, self.score, show=show, cue=self._cue)
                proof = await self.theatre.prove()
            except BaseException:
                self.phase = "failed"
                raise
            self.phase, self.ended = "over", time.monotonic()
            return self.score, proof

    def play_again(self, tell: Callable[[Score, Proof], None]) -> None:
        """Beside whoever asks. UserError while something else is on."""
        if self.turn.locked():
            raise UserError("the storm is on, or a key's work is; wait until it is over")
        self._playing = asyncio.create_task(self._again(tell))

    def kill(self) -> str:
        """The worker, now; what came of it. In a storm as often as the event survives."""
        if self.phase == "storm":
            if len(self.score.killed) + self._pressed.is_set() >= KILLS:
                raise UserError(
                    f"the event saw {KILLS} workers die; one more makes it a dead letter: wait until it is done"
                )
            self._pressed.set()
            return "kill -9: the worker dies with its order written and not committed"
        victim = next(iter(self.theatre.shop.pids("worker")), None)
        if victim is None:
            raise UserError("there is no worker now; another is being started")
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        return f"kill -9 {victim}: another worker takes its place"

    async def close(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    async def _again(self, show: Callable[[Score, Proof], None]) -> None:
        try:
            show(*await self.storm(lambda _score: None))
        except* (OSError, EOFError):  # the page says that it failed; TimeoutError is an OSError
            pass

    async def _cue(self, reached: asyncio.Event) -> bool:
        """Whoever looks at the page has two minutes to press the button; without anybody nobody waits."""
        held = asyncio.create_task(reached.wait())
        pressed = asyncio.create_task(self._pressed.wait())
        try:
            await asyncio.wait([held, pressed], return_when=asyncio.FIRST_COMPLETED)
            self.kills_at = time.monotonic() + PRESS_SECONDS
            while not self._pressed.is_set() and self._is_seen() and time.monotonic() < self.kills_at:
                await asyncio.wait([pressed], timeout=0.5)
            return self._pressed.is_set()
        finally:
            self.kills_at = None
            self._pressed.clear()
            held.cancel()
            pressed.cancel()

    def _is_seen(self) -> bool:
        return time.monotonic() - self._seen_at < LOOKS_SECONDS

"""Where callers of endpoints wait for their answers. One loop looks for all of them: woken by the workers, and ten
times a second by itself, as a wake-up may be lost. Nobody waits longer than its endpoint says."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

from landfast import telemetry
from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.endpoint import Endpoint
from landfast.domain.errors import LandfastError
from landfast.domain.ids import EventId
from landfast.intake.endpoints.stored_answers import Caller, StoredAnswers, call_of
from landfast.ports.clock import Clock
from landfast.ports.wakeup import Wakeup

CALLERS_AT_MOST = 1_000
"""Who wait at a time, in one process. Each holds a connection, and a few kilobytes. The next one is told to come again,
which costs it a second and us nothing."""

LOOK_SECONDS = 0.1
"""Between two looks that nobody asked for: nobody minds a tenth of a second where a wake-up was lost, and ten
statements a second cost nothing."""

LOOK_SECONDS_AT_MOST = 2.0
"""For one look. A database that is slower says nothing now, and callers whose time is up are told so."""

SHORTEST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1, 60
"""Of Retry-After: it takes whole seconds, and a caller that waits longer than a minute has lost interest."""

Told = Callable[[Answer], None]


class CallersDesk(Protocol):
    """As intake has it. Each who comes is told once."""

    def follow(self, endpoint: Endpoint, delivery: Delivery, row: Recorded, told: Told) -> None:
        """The call is durable: tell its answer when there is one."""
        ...

    def ask(self, endpoint: Endpoint, source: str, event: EventId, path: str, told: Told) -> None:
        """Tell what became of a call, after this returns; who only asks does not wait."""
        ...

    def let_go(self) -> None:
        """Tell all who wait to come again, and let nobody wait from now on: this process ends."""
        ...


class NoDesk:
    """Where nobody can look for answers: all are told to come again."""

    def follow(self, endpoint: Endpoint, delivery: Delivery, row: Recorded, told: Told) -> None:  # noqa: ARG002 - the port's
        told(accepted(delivery.event_id, endpoint.link(delivery.event_id, endpoint.path)))

    def ask(self, endpoint: Endpoint, source: str, event: EventId, path: str, told: Told) -> None:  # noqa: ARG002 - the port's
        asyncio.get_running_loop().call_soon(told, accepted(event, endpoint.link(event, path)))

    def let_go(self) -> None:
        """Nobody waits."""


class AnswerDesk:
    """On one loop. Whoever is told nothing else is told 202: durable, and on its way."""

    def __init__(self, answers: StoredAnswers, *, wakeup: Wakeup, clock: Clock, most: int = CALLERS_AT_MOST) -> None:
        self._answers = answers
        self._wakeup = wakeup
        self._clock = clock
        self._most = most
        self._callers: dict[Caller, None] = {}
        self._changed = asyncio.Event()
        self._somebody = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closing = False
        self._is_blind = False
        """The last look failed, and that was told."""

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._listen()), loop.create_task(self._attend())]

    def follow(self, endpoint: Endpoint, delivery: Delivery, row: Recorded, told: Told) -> None:
        if row.event_id != delivery.event_id:  # what proved it was another body's: an event of its own, and held
            self.ask(endpoint, delivery.source, row.event_id, endpoint.path, told)
            return
        until = self._clock.monotonic() + endpoint.wait
        caller = call_of(endpoint, delivery, is_new=row.is_new, deadline=until, tell=told)
        # Of a new call there is nothing to be found at once.
        self._take(caller, is_hopeless=row.is_new and not endpoint.wait)

    def ask(self, endpoint: Endpoint, source: str, event: EventId, path: str, told: Told) -> None:
        self._take(Caller(endpoint, source, event, path, self._clock.monotonic(), told, is_replayed=True))

    def let_go(self) -> None:
        self._is_closing = True
        for caller in list(self._callers):
            self._answer(caller, _accepted(caller))

    async def close(self) -> None:
        self.let_go()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def waiting(self) -> int:
        return len(self._callers)

    def _take(self, caller: Caller, *, is_hopeless: bool = False) -> None:
        if is_hopeless or self._is_closing or len(self._callers) >= self._most:
            # Not at once: whoever asks is not ready for the answer before we return.
            asyncio.get_running_loop().call_soon(caller.tell, _accepted(caller))
            return
        self._callers[caller] = None
        self._somebody.set()
        self._changed.set()

    async def _listen(self) -> None:
        while True:
            await self._somebody.wait()
            await self._wakeup.wait(LOOK_SECONDS)
            self._changed.set()

    async def _attend(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            now = self._clock.monotonic()
            looked = list(self._callers)
            for caller in looked:
                caller.is_last_look = caller.deadline <= now
            await self._look(looked)
            for caller in looked:
                if caller.is_last_look:
                    self._answer(caller, _accepted(caller))
            if not self._callers:
                self._somebody.clear()

    async def _look(self, callers: list[Caller]) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS_AT_MOST):
                await self._answers.look(callers, self._answer)
            self._is_blind = False
        except (LandfastError, TimeoutError) as error:
            # A database is away, or the ledger is not there yet. What is durable stays so, and they come again.
            if callers and not self._is_blind:
                telemetry.warn("answers_not_found", error=error)
            self._is_blind = True
        except Exception as error:  # noqa: BLE001 - whatever it was, they are answered and the next look goes on
            telemetry.error("answers_not_found", trace=error)

    def _answer(self, caller: Caller, answer: Answer) -> None:
        """Once: whoever was let go meanwhile has its answer."""
        if caller in self._callers:
            del self._callers[caller]
            try:
                caller.tell(answer)
            except Exception as failure:  # noqa: BLE001 - one connection that fails must not keep the others waiting
                telemetry.error("answer_failed", trace=failure)


def _accepted(caller: Caller) -> Answer:
    link = caller.endpoint.link(caller.event, caller.asked)
    wait = caller.retry_after or 0.0
    seconds = min(max(math.ceil(wait), SHORTEST_RETRY_SECONDS), LONGEST_RETRY_SECONDS)
    return accepted(caller.event, link, seconds)


def accepted(event: EventId, link: str, seconds: int = SHORTEST_RETRY_SECONDS) -> Answer:
    body = b'{"status":"running","event":"%s"}' % event.hex().encode()
    return Answer(202, body, headers=((b"retry-after", b"%d" % seconds), (b"location", link.encode())))

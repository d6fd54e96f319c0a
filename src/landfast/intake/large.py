"""What a body costs before anybody has proved anything grows with it. So a large one waits for its turn, and one that
is larger still is put together and verified in a thread; under our own server, and under anybody else's.

A mebibyte takes half a millisecond to three of the loop, in which everybody else waits, so 25 of them would take 25 and
more. In a thread, hashing leaves the interpreter to others. There is one thread, in which one body follows the other.
It is not for the smaller ones: loop and thread would take the interpreter from each other, for half a millisecond each.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from landfast.domain.answer import Answer
from landfast.domain.errors import OverloadedError
from landfast.intake.verify import verify
from landfast.ports.provider import Proven

if TYPE_CHECKING:
    from landfast.intake.receive import Admitted, Answered, Intake

LINE_BYTES = 128 * 1024
"""Beyond it a body waits in line, behind others, before it is looked into. Fewer than one webhook in a hundred is so
large."""

LARGE_BYTES = 1024 * 1024
"""Beyond it a body is verified in the thread: only GitHub's are, and those of sources with a larger `body_limit`."""

SECONDS_BETWEEN_TURNS = 0.001
"""At least: whoever sends small requests gets there first."""

OTHERS_SHARE = 2
"""After its turns the line waits for as long as they took, times this, and so does the thread after each body. It
leaves two thirds of the processor to those who send one small request at a time, and to the thread that stores theirs.
"""

LONGEST_REST_SECONDS = 0.1
"""A machine that stood still makes a body seem long."""

PATIENCE_SECONDS = 10.0
"""After which another body may have its room: as long as a request has to arrive."""


Judge = Callable[[], Proven] | None
"""Gives what `verify` found, or raises what it raised."""


class LargeBodies:
    def __init__(self, intake: Intake, keys: Mapping[str, bytes]) -> None:
        self._intake = intake
        self._keys = keys
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="landfast-large")  # started by the first one
        self.turns = Turns()

    def receive(self, admitted: Admitted, whole: Callable[[], bytes], size: int, answered: Answered) -> Answer | None:
        """As `Intake.receive`, of a body that is put together here, or in the thread where it is a large one."""
        if size <= LARGE_BYTES or admitted.greeting is not None:
            return self._intake.receive(admitted, whole(), answered)
        body = LargeBody(self._intake, admitted, whole, answered)
        self._intake.unproven.hold(body, admitted.source.name, admitted.head.footprint + size)
        keys = dict(self._keys)  # a copy: they change on the loop
        self._thread.submit(_verify_and_rest, body, keys, asyncio.get_running_loop())
        return None

    def begin(self, admitted: Admitted, whole: Callable[[], bytes], size: int) -> asyncio.Future[Answer]:
        """The same for a caller that can wait. A caller that is cancelled meanwhile does not cancel the storing."""
        later: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        given = self.receive(admitted, whole, size, partial(_tell, later))
        if given is not None:
            later.set_result(given)
        return later


class Turns:
    """The line of a server that is not ours: one body has its turn at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Until `end`, nobody else has one."""
        await self._lock.acquire()

    def end(self, seconds: float) -> None:
        """After a turn of so many seconds."""
        wait = max(SECONDS_BETWEEN_TURNS, min(OTHERS_SHARE * seconds, LONGEST_REST_SECONDS))
        asyncio.get_running_loop().call_later(wait, self._lock.release)


def _tell(later: asyncio.Future[Answer], answer: Answer) -> None:
    if not later.done():  # cancelled by whoever waited for it
        later.set_result(answer)


def _verify_and_rest(body: LargeBody, keys: Mapping[str, bytes], loop: asyncio.AbstractEventLoop) -> None:
    began = time.monotonic()
    body.verify(keys, loop)
    time.sleep(min(OTHERS_SHARE * (time.monotonic() - began), LONGEST_REST_SECONDS))


class LargeBody:
    """One that is being verified. It holds its bytes in the budget of the unproven ones until then."""

    def __init__(self, intake: Intake, admitted: Admitted, whole: Callable[[], bytes], answered: Answered) -> None:
        self._intake = intake
        self._admitted = admitted
        self._whole: Callable[[], bytes] | None = whole
        self._answered = answered
        self._outcome: Proven | Exception | None = None
        self._is_over = False
        self.deadline = intake.monotonic() + PATIENCE_SECONDS

    def verify(self, keys: Mapping[str, bytes], loop: asyncio.AbstractEventLoop) -> None:
        """In the thread."""
        whole, self._whole = self._whole, None
        if whole is not None:
            body = whole()
            self._outcome = self._verified(body, keys)
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits for an answer
                loop.call_soon_threadsafe(self._go_on, body)

    def _verified(self, body: bytes, keys: Mapping[str, bytes]) -> Proven | Exception:
        source, head, at = self._admitted.source, self._admitted.head, self._admitted.at.timestamp()
        try:
            return verify(source, self._admitted.signature, head, body, now=at, keys=keys)
        except Exception as error:  # noqa: BLE001 - raised again on the loop, where it is answered
            return error

    def _go_on(self, body: bytes) -> None:
        if self._end():
            given = self._intake.receive(self._admitted, body, self._answered, self._judge)
            if given is not None:
                self._answered(given)

    def _judge(self) -> Proven:
        outcome, self._outcome = self._outcome, None
        try:
            if isinstance(outcome, Proven):
                return outcome
            raise outcome or RuntimeError("it is judged once")
        finally:
            del outcome  # an error that its own frame holds would keep the body until the garbage is collected

    def give_way(self) -> None:
        self._whole = None
        # A moment later: this may be the very request that is being received.
        asyncio.get_running_loop().call_soon(self._refuse)

    def _refuse(self) -> None:
        if self._end():
            name = self._admitted.source.name
            self._answered(self._intake.refuse(name, OverloadedError("its bytes were needed")))

    def _end(self) -> bool:
        self._intake.unproven.hold(self, self._admitted.source.name, 0)
        was_over, self._is_over = self._is_over, True
        return not was_over

"""A large body is put together and verified in a thread: what that costs grows with it, and nobody has proved anything.

A mebibyte takes a millisecond of the loop, in which everybody else waits, so 25 of them would take 25. Both copying and
hashing leave the interpreter to others. There is one thread, in which one body follows the other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from landfast.domain.errors import OverloadedError
from landfast.intake.verify import verify
from landfast.ports.provider import Proven

if TYPE_CHECKING:
    from landfast.intake.receive import Admitted, Answered, Intake

LARGE_BYTES = 1024 * 1024
"""Beyond it a body is verified in the thread: only GitHub's are, and those of sources with a larger `body_limit`."""

PATIENCE_SECONDS = 10.0
"""After which another body may have its room: as long as a request has to arrive."""


Judge = Callable[[], Proven] | None
"""Gives what `verify` found, or raises what it raised."""


class LargeBodies:
    def __init__(self, intake: Intake, keys: Mapping[str, bytes]) -> None:
        self._intake = intake
        self._keys = keys
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="landfast-large")  # started by the first one

    def receive(self, admitted: Admitted, whole: Callable[[], bytes], size: int, answered: Answered) -> None:
        """As `Intake.receive`, of a body that is put together in the thread. `answered` is told in any case."""
        body = LargeBody(self._intake, admitted, whole, answered)
        self._intake.unproven.hold(body, admitted.source.name, admitted.head.footprint + size)
        keys = dict(self._keys)  # a copy: they change on the loop
        self._thread.submit(body.verify, keys, asyncio.get_running_loop())


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

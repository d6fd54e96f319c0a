"""Large bodies are verified in a thread; they are answered, counted and bounded as all others."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from landfast.domain.answer import Answer
from landfast.domain.census import SourceTally
from landfast.intake.diagnosis.case import MOST_BYTES
from landfast.intake.large import LARGE_BYTES
from landfast.intake.policy.unproven import Unproven
from landfast.web.http.bodies import SizedBody
from tests.intake.desk import Desk, SlowScheme, body, source, watched
from tests.patience import PATIENCE_SECONDS

LARGE = body() + b" " * LARGE_BYTES
STRIPE = source(body_limit=2 * MOST_BYTES)


class Sender:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._answers: asyncio.Queue[Answer] = asyncio.Queue()

    def send(self, content: bytes, *, signed: bytes | None = None) -> weakref.ref[SizedBody]:
        parts = SizedBody(len(content))
        parts.feed(content)
        admitted = self.desk.intake.admit(self.desk.head(content if signed is None else signed))
        self.desk.intake.large.receive(admitted, parts.whole, parts.size, self._answers.put_nowait)
        return weakref.ref(parts)

    async def status(self) -> int:
        return (await asyncio.wait_for(self._answers.get(), PATIENCE_SECONDS)).status


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def test_a_genuine_one_is_stored_and_a_forged_one_refused() -> None:
    sender = Sender(Desk(sources=(STRIPE,)))
    sender.send(LARGE)
    assert await sender.status() == 200
    sender.send(LARGE)
    assert await sender.status() == 200
    sender.send(LARGE, signed=body(2))
    assert await sender.status() == 401
    assert sender.desk.count() == SourceTally(received=3, stored=1, duplicate=1, rejected=1)
    assert sender.desk.unproven.total == 0


async def test_others_are_answered_while_it_is_verified() -> None:
    desk, slow = _slow_desk(Unproven())
    sender = Sender(desk)
    sender.send(LARGE, signed=b"{}")
    assert await asyncio.to_thread(slow.has_begun.wait, PATIENCE_SECONDS)
    assert desk.unproven.total > len(LARGE)
    slow.may_end.set()
    assert await sender.status() == 401
    assert slow.threads and threading.current_thread() not in slow.threads
    assert desk.unproven.total == 0


async def test_it_makes_room_for_others_and_is_not_verified_then() -> None:
    desk, slow = _slow_desk(Unproven(2 * len(LARGE)))
    sender = Sender(desk)
    sender.send(LARGE)
    assert await asyncio.to_thread(slow.has_begun.wait, PATIENCE_SECONDS)
    desk.clock.advance(1)
    sender.send(LARGE)
    assert await sender.status() == 503  # the first is the slowest
    slow.may_end.set()
    assert await sender.status() == 200
    assert desk.is_balanced() and desk.count().stored == 1 and desk.unproven.total == 0


async def test_a_refused_one_is_let_go_of_at_once(without_collector: None) -> None:
    sender = Sender(Desk(sources=(STRIPE,)))
    unexplained = b" " * (MOST_BYTES + 1)  # nobody looks into it once more
    parts = sender.send(unexplained, signed=body(2))
    assert await sender.status() == 401
    # The thread has told the loop before it let go itself: what it does next comes after that.
    sender.send(unexplained, signed=body(2))
    assert await sender.status() == 401
    assert parts() is None


def _slow_desk(unproven: Unproven) -> tuple[Desk, SlowScheme]:
    slow_source, slow = watched(STRIPE, SlowScheme)
    return Desk(sources=(slow_source,), unproven=unproven), slow

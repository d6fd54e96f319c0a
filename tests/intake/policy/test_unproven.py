"""One budget for the bytes of everybody who has proved nothing yet."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

from landfast.intake.keys.published_keys import PublishedKeys
from landfast.intake.large import LARGE_BYTES
from landfast.intake.policy.unproven import Unproven
from landfast.intake.receive import Intake
from landfast.testing.clock import ManualClock
from tests.intake.desk import watched
from tests.intake.keys.test_published_keys import Shelf, a_desk, delivered, jwks, shelf
from tests.patience import PATIENCE_SECONDS

__all__ = ["shelf"]


class Holder:
    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.gave_way = False

    def give_way(self) -> None:
        self.gave_way = True


def test_the_slowest_makes_room_and_not_the_newcomer() -> None:
    unproven = Unproven(100)
    holders = [Holder(float(each)) for each in (5, 3, 4)]
    for holder in holders:
        unproven.hold(holder, "github", 30)
    newcomer = Holder(10.0)
    unproven.hold(newcomer, "github", 20)
    assert [holder.gave_way for holder in holders] == [False, True, False] and not newcomer.gave_way
    assert unproven.total == 80


def test_the_source_that_holds_the_most_makes_room() -> None:
    unproven = Unproven(100)
    quiet, flood = Holder(1.0), [Holder(float(each)) for each in range(10, 20)]
    unproven.hold(quiet, "stripe", 20)
    for holder in flood:
        unproven.hold(holder, "github", 10)
    assert not quiet.gave_way
    assert sum(holder.gave_way for holder in flood) == 3
    assert unproven.total == 20 + 7 * 10


def test_what_a_holder_has_is_counted_once_and_given_back_whole() -> None:
    unproven, holder = Unproven(100), Holder(1.0)
    for size in (10, 60, 90, 20):
        unproven.hold(holder, "" if size == 10 else "github", size)
        assert unproven.total == size
    unproven.hold(holder, "github", 0)
    unproven.hold(holder, "github", 0)
    assert unproven.total == 0 and not unproven._of_source and not holder.gave_way


def test_room_is_made_for_many_at_a_time() -> None:
    """To look for the slowest takes as long as there are holders: not for each that comes."""
    unproven = Unproven(8_000)
    holders = [Holder(float(each)) for each in range(80)]
    for holder in holders:
        unproven.hold(holder, "github", 100)
    unproven.hold(Holder(1_000.0), "github", 1)
    assert sum(holder.gave_way for holder in holders) == 11


async def test_bodies_that_wait_for_a_key_are_in_the_same_budget(shelf: Shelf) -> None:
    """The key does not come: a stranger's requests wait for it with all of their bytes."""
    intake, recorder, profile, clock = a_desk(shelf)
    gate = threading.Event()
    _wait_for_keys_at(gate, intake, clock)
    body = b'{"type":"made","note":"' + b"x" * 1_000 + b'"}'
    intake.unproven = Unproven()
    try:
        waiting = [asyncio.ensure_future(delivered(intake, profile, clock, body)) for _ in range(10)]
        await asyncio.sleep(0)
        most = intake.unproven._most = intake.unproven.total
        assert most > 10 * len(body)
        newcomer = asyncio.ensure_future(delivered(intake, profile, clock, body))
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert {(await each).status for each in done} == {503}
        assert intake.unproven.total <= most and not newcomer.done()
    finally:
        gate.set()
    statuses = [(await each).status for each in [*waiting, newcomer]]
    assert sorted(set(statuses)) == [503] and intake.unproven.total == 0
    assert not recorder.events


async def test_a_large_body_whose_key_has_come_is_verified_in_the_thread(shelf: Shelf) -> None:
    """And not on the loop, one after the other, all that waited."""
    intake, recorder, profile, clock = a_desk(shelf)
    shelf.documents["/keys"] = (200, jwks())
    large = replace(intake._routes["/in/made-up"], body_limit=2 * LARGE_BYTES)
    intake._routes["/in/made-up"], scheme = watched(large)
    assert (await delivered(intake, profile, clock, b'{"type":"%b"}' % (b"x" * LARGE_BYTES))).status == 200
    assert len(scheme.threads) == 2 and threading.current_thread() not in scheme.threads
    assert len(recorder.events) == 1 and intake.unproven.total == 0


def _wait_for_keys_at(gate: threading.Event, intake: Intake, clock: ManualClock) -> None:
    def fetch(url: str, post: bytes | None) -> bytes:
        gate.wait(PATIENCE_SECONDS)
        raise OSError(f"{url} is not there, {post!r}")

    intake._keys = PublishedKeys(clock, fetch)

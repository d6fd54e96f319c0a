from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import SqliteInbox
from landfast.recovery.replay import REPLAY_CHUNK_EVENTS, Progress, count, replay, replay_one, wanted
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import DAWN
from tests.recovery.scenes import settle_all, store

DEAD = Filter(state=State.DEAD)
DONE = Filter(state=State.DONE)


class InterruptedHereError(Exception):
    pass


def test_a_filter_means_dead_letters_unless_it_names_a_state() -> None:
    assert wanted("source:stripe", now=DAWN) == Filter(source="stripe", state=State.DEAD)
    assert wanted("state:unhandled", now=DAWN) == Filter(state=State.UNHANDLED)


def test_an_event_on_its_way_cannot_be_asked_for() -> None:
    with pytest.raises(UserError, match="claimed cannot be replayed; choose state: one of dead, done, unhandled"):
        wanted("state:claimed", now=DAWN)


@pytest.mark.req("R26")
async def test_2400_dead_letters_are_replayed_under_their_own_keys(inbox: SqliteInbox, clock: ManualClock) -> None:
    events = await store(inbox, 2400)
    await settle_all(inbox, Signal.BURY)
    assert await count(inbox, DEAD) == 2400
    seen: list[Progress] = []

    done = await replay(inbox, DEAD, forced=False, who="selma", clock=clock, report=seen.append)

    assert (done.replayed, done.looked_at) == (2400, 2400)
    assert [progress.replayed for progress in seen] == list(range(REPLAY_CHUNK_EVENTS, 2401, REPLAY_CHUNK_EVENTS))
    assert await count(inbox, DEAD) == 0
    claims = await settle_all(inbox, Signal.FINISH)
    assert {(claim.key, claim.run, claim.forced) for claim in claims} == {(event.key, 2, False) for event in events}


async def test_only_what_matches_is_replayed(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 3, source="shop")
    await store(inbox, 2, source="crm")
    await settle_all(inbox, Signal.BURY)
    chosen = wanted("source:crm", now=DAWN)
    assert (await replay(inbox, chosen, forced=False, who="selma", clock=clock)).replayed == 2
    assert await count(inbox, DEAD) == 3


async def test_an_interrupted_replay_goes_on_with_the_same_filter(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, REPLAY_CHUNK_EVENTS + 50)
    await settle_all(inbox, Signal.BURY)

    with pytest.raises(InterruptedHereError):
        await replay(inbox, DEAD, forced=False, who="selma", clock=clock, report=_interrupt)
    assert await count(inbox, DEAD) == 50

    assert (await replay(inbox, DEAD, forced=False, who="selma", clock=clock)).replayed == 50
    assert {claim.run for claim in await settle_all(inbox, Signal.FINISH)} == {2}


async def test_an_interrupted_replay_of_done_events_goes_on_from_its_mark(
    inbox: SqliteInbox, clock: ManualClock
) -> None:
    await store(inbox, REPLAY_CHUNK_EVENTS + 50)
    await settle_all(inbox, Signal.FINISH)
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        raise InterruptedHereError

    clock.advance(60)
    with pytest.raises(InterruptedHereError):
        await replay(inbox, DONE, forced=True, who="selma", clock=clock, report=interrupt)
    clock.advance(60)
    assert (
        len(await settle_all(inbox, Signal.FINISH)) == REPLAY_CHUNK_EVENTS
    )  # done once more, so the filter matches them again

    mark = seen[0].mark
    assert mark is not None
    done = await replay(inbox, DONE, forced=True, who="selma", clock=clock, since_mark=mark)
    assert (done.replayed, done.looked_at, done.mark) == (50, REPLAY_CHUNK_EVENTS + 50, mark)
    claims = await settle_all(inbox, Signal.FINISH)
    assert {(claim.run, claim.forced) for claim in claims} == {(2, True)}
    assert len(claims) == 50


async def test_a_replay_before_the_mark_does_not_count(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 1)
    await settle_all(inbox, Signal.FINISH)
    await replay(inbox, DONE, forced=False, who="selma", clock=clock)
    await settle_all(inbox, Signal.FINISH)
    clock.advance(1)
    assert (await replay(inbox, DONE, forced=True, who="selma", clock=clock, since_mark=clock.now())).replayed == 1


async def test_an_event_that_dies_again_on_the_way_is_not_replayed_twice(tmp_path: Path, clock: ManualClock) -> None:
    class StillBroken(SqliteInbox):
        async def replay(self, events: Sequence[EventId], *, forced: bool, who: str) -> int:
            replayed = await super().replay(events, forced=forced, who=who)
            await settle_all(self, Signal.BURY)
            return replayed

    inbox = StillBroken(str(tmp_path / "inbox.db"), clock=clock, chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    await store(inbox, REPLAY_CHUNK_EVENTS + 1)
    await settle_all(inbox, Signal.BURY)
    done = await replay(inbox, DEAD, forced=False, who="selma", clock=clock)
    assert done.replayed == REPLAY_CHUNK_EVENTS + 1
    assert {event.run for event in await inbox.find(DEAD, limit=500)} == {2}
    await inbox.close()


async def test_the_rate_is_kept(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 30)
    await settle_all(inbox, Signal.BURY)
    began = clock.monotonic()
    seen: list[Progress] = []
    await replay(inbox, DEAD, forced=False, who="selma", clock=clock, rate=10, report=seen.append)
    assert [progress.replayed for progress in seen] == [10, 20, 30]
    assert clock.monotonic() - began == pytest.approx(3.0)


async def test_one_event_is_replayed_and_the_history_says_who(inbox: SqliteInbox) -> None:
    (event,) = await store(inbox, 1)
    assert not await replay_one(inbox, event.event_id, forced=False, who="selma")  # it is ready: on its way already
    await settle_all(inbox, Signal.BURY)
    assert await replay_one(inbox, event.event_id, forced=True, who="selma")
    record = await inbox.show(event.event_id)
    assert record is not None
    assert (record.history[-1].signal, record.history[-1].who) == (Signal.REPLAY, "selma")
    assert record.summary.key == event.key


def _interrupt(_progress: Progress) -> None:
    raise InterruptedHereError

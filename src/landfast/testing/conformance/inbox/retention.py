"""What is old enough leaves: content first, then all of it, counted when it does. What is unfinished never does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from landfast.domain.errors import TurnLostError
from landfast.domain.lifecycle import Signal, State
from landfast.domain.retention import DAY_SECONDS, EXPIRES, FOREVER, Ages, Count, Retention, Step
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import Bench, claim, look, state_of
from landfast.testing.factory import deliveries, delivery, event_in, settlement

HOLDER = b"holder-1"
EVERYTHING = 2**62
WEEK_THEN_MONTH = Retention(Ages(bodies=7 * DAY_SECONDS, dead=7 * DAY_SECONDS, memory=35 * DAY_SECONDS))
SHORT = Retention(Ages(*4 * (DAY_SECONDS,)))
UNFINISHED = [state for state in State if state not in EXPIRES]


async def run_through(inbox: Inbox, retention: Retention, *, proven: int = EVERYTHING) -> list[Step]:
    """One pass."""
    assert await inbox.take_retention_turn(HOLDER, every=0, lasting=60)
    steps = []
    while (step := await inbox.retain(retention, holder=HOLDER, proven=proven)) is not None:
        steps.append(step)
        assert len(steps) < 1_000, "it does not end"
    await inbox.end_retention_turn(HOLDER, is_complete=True)
    return steps


def removed(steps: Sequence[Step], state: State = State.DONE, source: str = "shop") -> Count:
    return sum((step.counts.get((source, state), Count()) for step in steps), Count())


async def is_exact(inbox: Inbox) -> bool:
    census = await inbox.census()
    found = {state: count for chunk in [each async for each in inbox.recount()] for state, count in chunk.items()}
    return census.here == sum(census.states.values()) == sum(found.values()) and None not in found


class RetentionConformance:
    async def test_content_goes_first_and_the_event_says_when(self, bench: Bench) -> None:
        what = delivery(body=b"canary", headers=b'[["x","canary"]]')
        await event_in(bench.inbox, State.DONE, what)
        await bench.advance(6 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, WEEK_THEN_MONTH)) == Count()
        assert (await look(bench.inbox, what.event_id)).body == b"canary"
        await bench.advance(2 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, WEEK_THEN_MONTH)) == Count(bodies=1)
        kept = await look(bench.inbox, what.event_id)
        assert (kept.headers, kept.body, kept.summary.state) == (b"[]", b"", State.DONE)
        assert kept.summary.body_expired_at is not None
        assert (kept.summary.source, kept.summary.key, kept.summary.type) == (what.source, what.key, what.type)
        assert [line.state for line in kept.history] == [State.DONE]
        assert removed(await run_through(bench.inbox, WEEK_THEN_MONTH)) == Count()

    @pytest.mark.parametrize("state", [State.DONE, State.DEAD])
    async def test_an_event_without_its_content_is_known_and_never_runs_again(self, bench: Bench, state: State) -> None:
        what = delivery(body=b"canary")
        await event_in(bench.inbox, state, what)
        await bench.advance(8 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, WEEK_THEN_MONTH), state) == Count(bodies=1)
        assert [one.is_new for one in await bench.inbox.record([what])] == [False]
        assert list(await bench.inbox.differing([delivery(body=b"another")])) == [None]
        for forced in (False, True):
            assert await bench.inbox.replay([what.event_id], forced=forced, who="ada") == 0
        assert await bench.inbox.recover([what.event_id], who="ada") == 0
        assert await state_of(bench.inbox, what.event_id) is state
        assert await is_exact(bench.inbox)

    @pytest.mark.parametrize("state", EXPIRES)
    async def test_all_of_it_goes_when_the_memory_ends_and_it_is_counted(self, bench: Bench, state: State) -> None:
        kept = Retention(WEEK_THEN_MONTH.default._replace(unhandled=7 * DAY_SECONDS))
        what = delivery()
        await event_in(bench.inbox, state, what)
        await bench.inbox.record(deliveries(2, prefix="young"))
        await bench.advance(34 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, kept), state).events == 0
        await bench.advance(2 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, kept), state).events == 1
        assert await bench.inbox.show(what.event_id) is None
        assert not await bench.inbox.known([what.event_id])
        census = await bench.inbox.census()
        assert (census.events, census.here, census.expired) == (3, 2, {state: 1})
        assert census.states.get(state, 0) == 0
        assert await is_exact(bench.inbox)
        assert not await bench.inbox.unhandled()
        assert [one.is_new for one in await bench.inbox.record([what])] == [True]
        assert await is_exact(bench.inbox)

    @pytest.mark.parametrize("state", UNFINISHED)
    async def test_what_is_unfinished_stays_whole_however_old_it_is(self, bench: Bench, state: State) -> None:
        what = delivery(body=b"canary")
        await event_in(bench.inbox, state, what)
        await bench.advance(3_650 * DAY_SECONDS)
        steps = await run_through(bench.inbox, SHORT)
        assert not any(step.counts for step in steps)
        assert (await look(bench.inbox, what.event_id)).body == b"canary"
        assert await is_exact(bench.inbox)

    async def test_ages_are_by_source_and_state(self, bench: Bench) -> None:
        ages = Ages(bodies=2 * DAY_SECONDS, dead=FOREVER, unhandled=9 * DAY_SECONDS, memory=DAY_SECONDS)
        kept = Retention(ages, {"bank": ages._replace(bodies=FOREVER)})
        for number, (source, state) in enumerate(
            [("shop", State.DONE), ("shop", State.DEAD), ("shop", State.UNHANDLED), ("bank", State.DONE)], 1
        ):
            await event_in(bench.inbox, state, delivery(source=source, key=f"{source}-{state}"), number=number)
        await bench.advance(3 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, kept)) == Count(events=1)
        await bench.advance(7 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, kept), State.UNHANDLED) == Count(events=1)
        await bench.advance(999 * DAY_SECONDS)
        assert not any(step.counts for step in await run_through(bench.inbox, kept))
        census = await bench.inbox.census()
        assert (census.states[State.DONE], census.states[State.DEAD], census.here) == (1, 1, 2)

    async def test_the_age_counts_from_the_last_thing_that_happened(self, bench: Bench) -> None:
        done = await event_in(bench.inbox, State.DONE)
        await bench.advance(2 * DAY_SECONDS)
        await bench.inbox.replay([done.event_id], forced=False, who="ada")
        (again,) = await claim(bench.inbox, 2)
        await bench.inbox.settle([settlement(again, Signal.FINISH)])
        assert removed(await run_through(bench.inbox, SHORT)) == Count()
        await bench.advance(2 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, SHORT)) == Count(events=1)
        census = await bench.inbox.census()
        assert (census.states[State.DONE], census.expired) == (0, {State.DONE: 1})

    async def test_what_is_not_proven_yet_stays(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.DONE, delivery("first"))
        proven = await bench.inbox.newest_line()
        last = await event_in(bench.inbox, State.DONE, delivery("last"), number=2)
        await bench.advance(2 * DAY_SECONDS)
        steps = await run_through(bench.inbox, SHORT, proven=proven)
        assert (removed(steps), sum(step.held_back for step in steps)) == (Count(events=1), 1)
        assert await state_of(bench.inbox, last.event_id) is State.DONE

    async def test_one_pass_at_a_time(self, bench: Bench) -> None:
        other = await bench.another()
        assert await bench.inbox.take_retention_turn(HOLDER, every=0, lasting=60)
        assert await bench.inbox.take_retention_turn(HOLDER, every=0, lasting=60)
        assert not await other.take_retention_turn(b"holder-2", every=0, lasting=60)
        with pytest.raises(TurnLostError):
            await other.retain(SHORT, holder=b"holder-2", proven=EVERYTHING)
        assert (await other.last_pass()).is_running
        await other.end_retention_turn(b"holder-2", is_complete=True)  # it has none to end
        assert not await other.take_retention_turn(b"holder-2", every=0, lasting=60)
        await bench.advance(120)  # the first one died
        assert await other.take_retention_turn(b"holder-2", every=0, lasting=60)
        with pytest.raises(TurnLostError):
            await bench.inbox.retain(SHORT, holder=HOLDER, proven=EVERYTHING)

    async def test_what_is_urgent_takes_the_turn(self, bench: Bench) -> None:
        other = await bench.another()
        assert await other.take_retention_turn(b"holder-2", every=0, lasting=60)
        assert await bench.inbox.take_retention_turn(HOLDER, every=9_999, lasting=60, is_urgent=True)
        with pytest.raises(TurnLostError):
            await other.retain(SHORT, holder=b"holder-2", proven=EVERYTHING)
        await other.end_retention_turn(b"holder-2", is_complete=True)
        assert (await other.last_pass()).is_running

    async def test_the_next_one_comes_some_time_after_the_last_that_was_complete(self, bench: Bench) -> None:
        for is_complete in (False, True):
            assert await bench.inbox.take_retention_turn(HOLDER, every=3_600, lasting=60)
            await bench.inbox.end_retention_turn(HOLDER, is_complete=is_complete)
        assert not (await bench.inbox.last_pass()).is_running
        assert not await bench.inbox.take_retention_turn(HOLDER, every=3_600, lasting=60)
        await bench.advance(3_601)
        assert await bench.inbox.take_retention_turn(HOLDER, every=3_600, lasting=60)

    @pytest.mark.parametrize("every", [0, 3_600])
    async def test_a_clock_that_was_ahead_puts_off_no_pass(self, bench: Bench, every: float) -> None:
        await bench.advance(365 * DAY_SECONDS)
        await run_through(bench.inbox, SHORT)
        await bench.advance(-365 * DAY_SECONDS)
        assert not (await bench.inbox.last_pass()).is_running
        assert await bench.inbox.take_retention_turn(HOLDER, every=every, lasting=60)
        await bench.inbox.end_retention_turn(HOLDER, is_complete=True)
        assert not await bench.inbox.take_retention_turn(HOLDER, every=3_600, lasting=60), "it is as before"
        await event_in(bench.inbox, State.DONE)
        await bench.advance(2 * DAY_SECONDS)
        assert removed(await run_through(bench.inbox, SHORT)) == Count(events=1)

    async def test_what_would_go_is_counted_and_nothing_changes(self, bench: Bench) -> None:
        for number, state in enumerate((State.DONE, State.DEAD, State.DELAYED, State.UNHANDLED), 1):
            await event_in(bench.inbox, state, delivery(state), number=number)
        await bench.advance(8 * DAY_SECONDS)
        expected = {("shop", State.DONE): Count(bodies=1), ("shop", State.DEAD): Count(bodies=1)}
        for _ in range(2):
            assert await bench.inbox.expiring(WEEK_THEN_MONTH, proven=EVERYTHING) == expected
        assert await bench.inbox.expiring(WEEK_THEN_MONTH, proven=0) == {}
        steps = await run_through(bench.inbox, WEEK_THEN_MONTH)
        assert {named: count for step in steps for named, count in step.counts.items()} == expected

    async def test_old_events_that_are_still_known_are_named(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.CLAIMED, delivery("claimed"))
        await bench.inbox.record([delivery("old"), delivery("older", source="bank")])
        await bench.advance(1)
        named = [each async for chunk in bench.inbox.living(older_than=0, chunk=2) for each in chunk]
        assert len(named) == 3, "each once"
        assert {*named} == {("bank", "older"), ("shop", "claimed"), ("shop", "old")}

    async def test_what_waits_or_works_is_named_whenever_it_came(self, bench: Bench) -> None:
        """It may be one that was done long ago, was forgotten, and came again."""
        # Last what the next claim would take.
        in_turn = sorted(State, key=lambda state: (state is State.READY, state is State.CLAIMED))
        for number, state in enumerate(in_turn, 1):
            await event_in(bench.inbox, state, delivery(state), number=number)
        chunks = [chunk async for chunk in bench.inbox.living(older_than=3_650 * DAY_SECONDS, chunk=2)]
        named = {key for chunk in chunks for _, key in chunk}
        assert named == {*State} - {State.DONE}

    async def test_what_is_moved_while_the_living_are_named_is_named_all_the_same(self, bench: Bench) -> None:
        """Held before anybody worked on it: nobody has found its receipts yet."""
        ready, held = deliveries(4, prefix="ready"), deliveries(4, prefix="held", hold="late")
        await bench.inbox.record([*ready, *held])
        named: set[str] = set()
        async for chunk in bench.inbox.living(older_than=3_650 * DAY_SECONDS, chunk=1):
            named |= {key for _, key in chunk}
            if len(named) == 1:
                moved = await bench.inbox.hold([each.event_id for each in ready], who="ada", why="look first")
                assert (moved, await bench.inbox.admit([each.event_id for each in held], who="ada")) == (4, 4)
        assert named == {each.key for each in (*ready, *held)}

    async def test_an_event_that_is_replayed_meanwhile_leaves_or_runs(self, bench: Bench) -> None:
        made = deliveries(60)
        await bench.inbox.record(made)
        for number in range(2):
            claims = await claim(bench.inbox, number + 1, limit=30)
            signal = (Signal.FINISH, Signal.BURY)[number]
            await bench.inbox.settle([settlement(each, signal) for each in claims])
        await bench.advance(2 * DAY_SECONDS)
        other = await bench.another()

        async def replay() -> int:
            return sum([await other.replay([each.event_id], forced=False, who="ada") for each in made])

        steps, replayed = await asyncio.gather(run_through(bench.inbox, SHORT), replay())
        gone = removed(steps).events + removed(steps, State.DEAD).events
        assert gone + replayed == 60
        census = await bench.inbox.census()
        assert (census.here, census.states[State.READY]) == (replayed, replayed)
        assert len(await claim(bench.inbox, 9, limit=99)) == replayed, "each with its body"
        assert await is_exact(bench.inbox)

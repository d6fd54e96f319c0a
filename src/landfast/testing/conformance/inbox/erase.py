"""Erased events: nothing is left of what they brought, and all that a duplicate or a proof needs is."""

from __future__ import annotations

import pytest

from landfast.domain.erasure import ERASED
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State, after
from landfast.testing.conformance.inbox.bench import Bench, claim, look, state_of
from landfast.testing.factory import DELAY, delivery, event_in, failure, settlement

UNFINISHED = [state for state in State if after(state, Signal.ERASE)]


class EraseConformance:
    @pytest.mark.parametrize("state", [*UNFINISHED, State.DONE])
    async def test_nothing_is_left_of_what_an_erased_event_brought(self, bench: Bench, state: State) -> None:
        what = delivery(entity="cus_9", body=b"canary", headers=b'[["x","canary"]]')
        await event_in(bench.inbox, state, what)
        assert list(await bench.inbox.erase([what.event_id], who="ada")) == [what.event_id]
        kept = await look(bench.inbox, what.event_id)
        assert (kept.headers, kept.body, kept.summary.entity, kept.summary.message) == (b"[]", b"", None, "")
        assert all(not each.message and not each.trace for line in kept.history for each in line.attempts)
        assert kept.summary.erased_at is not None
        assert (kept.summary.source, kept.summary.key, kept.summary.type) == (what.source, what.key, what.type)
        assert not await bench.inbox.find(Filter(entity="cus_9"), limit=9)

    @pytest.mark.parametrize("state", UNFINISHED)
    async def test_one_that_was_not_done_is_dead_and_says_why(self, bench: Bench, state: State) -> None:
        held = await event_in(bench.inbox, state)
        await bench.inbox.erase([held.event_id], who="ada")
        kept = await look(bench.inbox, held.event_id)
        assert (kept.summary.state, kept.summary.reason) == (State.DEAD, ERASED)
        last = kept.history[-1]
        assert (last.signal, last.state, last.reason, last.who) == (Signal.ERASE, State.DEAD, ERASED, "ada")
        await bench.advance(DELAY + 1)
        assert not await claim(bench.inbox, 2, limit=9)
        assert (await bench.inbox.census()).states[State.DEAD] == 1
        assert not await bench.inbox.unhandled()

    async def test_a_done_one_stays_done_and_keeps_its_history(self, bench: Bench) -> None:
        done = await event_in(bench.inbox, State.DONE)
        before = await look(bench.inbox, done.event_id)
        await bench.inbox.erase([done.event_id], who="ada")
        kept = await look(bench.inbox, done.event_id)
        assert kept.summary.state is State.DONE
        assert [line.signal for line in kept.history] == [line.signal for line in before.history]
        (finished,) = [each async for chunk in bench.inbox.walk_done(Filter(), chunk=9) for each in chunk]
        assert (finished.event_id, finished.key) == (done.event_id, done.key)

    @pytest.mark.parametrize("state", [State.DONE, State.DEAD, State.UNHANDLED])
    async def test_an_erased_event_never_runs_again(self, bench: Bench, state: State) -> None:
        held = await event_in(bench.inbox, state)
        await bench.inbox.erase([held.event_id], who="ada")
        for forced in (False, True):
            assert await bench.inbox.replay([held.event_id], forced=forced, who="ada") == 0
        assert await bench.inbox.recover([held.event_id], who="ada") == 0
        assert await bench.inbox.requeue(source=held.source, type=held.type, limit=9) == 0
        assert not await claim(bench.inbox, 2, limit=9)

    async def test_one_that_comes_again_is_a_duplicate_and_brings_nothing_back(self, bench: Bench) -> None:
        what = delivery(body=b"canary")
        await event_in(bench.inbox, State.DONE, what)
        await bench.inbox.erase([what.event_id], who="ada")
        assert [one.is_new for one in await bench.inbox.record([what])] == [False]
        assert [one.is_new for one in await bench.inbox.record_drained([what])] == [False]
        assert (await look(bench.inbox, what.event_id)).body == b""
        assert list(await bench.inbox.differing([what])) == [None]

    async def test_a_claimed_event_is_left_alone(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        assert list(await bench.inbox.erase([held.event_id], who="ada")) == []
        assert await state_of(bench.inbox, held.event_id) is State.CLAIMED
        assert not await bench.inbox.erasures()
        assert list(await bench.inbox.settle([settlement(held, Signal.RETRY, due_in=DELAY, **failure())])) == [True]
        assert list(await bench.inbox.erase([held.event_id], who="ada")) == [held.event_id]

    async def test_erasing_again_or_what_is_unknown_changes_nothing(self, bench: Bench) -> None:
        dead = await event_in(bench.inbox, State.DEAD)
        asked = [dead.event_id, delivery("never").event_id, dead.event_id]
        assert list(await bench.inbox.erase(asked, who="ada")) == [dead.event_id]
        kept = await look(bench.inbox, dead.event_id)
        assert list(await bench.inbox.erase(asked, who="eve")) == []
        assert await look(bench.inbox, dead.event_id) == kept
        assert [(each.event_id, each.who) for each in await bench.inbox.erasures()] == [(dead.event_id, "ada")]

    async def test_what_is_scrubbed_is_clean_for_good(self, bench: Bench) -> None:
        assert await bench.inbox.scrub()
        dead = await event_in(bench.inbox, State.DEAD)
        await bench.inbox.erase([dead.event_id], who="ada")
        assert [each.is_clean for each in await bench.inbox.erasures()] == [False]
        assert await bench.inbox.scrub()
        assert [each.is_clean for each in await bench.inbox.erasures()] == [True]

    async def test_the_neighbours_of_an_erased_event_are_untouched(self, bench: Bench) -> None:
        dead = await event_in(bench.inbox, State.DEAD)
        other = await event_in(bench.inbox, State.DEAD, delivery("evt_2", entity="cus_9"))
        before = await look(bench.inbox, other.event_id)
        await bench.inbox.erase([dead.event_id], who="ada")
        assert await look(bench.inbox, other.event_id) == before
        assert before.summary.message

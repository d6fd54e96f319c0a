"""Archive: what an operator does to events, and the conservation of events."""

from __future__ import annotations

from datetime import timedelta

import pytest

from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Tries
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, look
from landfast.testing.factory import DAWN, DELAY, deliveries, delivery, event_in, settlement

REPLAYABLE = [State.DONE, State.DEAD, State.UNHANDLED]


class OperateConformance:
    @pytest.mark.parametrize("forced", [False, True])
    @pytest.mark.parametrize("state", REPLAYABLE)
    @pytest.mark.req("R26")
    async def test_a_replay_is_the_next_run_with_the_original_event(
        self,
        bench: Bench,
        state: State,
        forced: bool,  # noqa: FBT001 - pytest passes it by name
    ) -> None:
        held = await event_in(bench.inbox, state)
        assert await bench.inbox.replay([held.event_id], forced=forced, who="ada") == 1
        again = await claim_one(bench.inbox, 2)
        assert (again.run, again.forced) == (2, forced)
        assert (again.event_id, again.key, again.body) == (held.event_id, held.key, held.body)

    async def test_a_replay_starts_with_fresh_tries(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        tries = {HandlerName("create_order"): Tries(5, 90.0)}
        await bench.inbox.settle([settlement(held, Signal.RETRY, due_in=DELAY, tries=tries)])
        await bench.advance(DELAY + 1)
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.BURY, tries=tries)])
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        assert dict((await claim_one(bench.inbox, 3)).tries) == {}

    async def test_every_replay_is_one_more_run_and_its_line_says_who(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE)
        for run in (2, 3):
            await bench.inbox.replay([held.event_id], forced=False, who=f"ada {run}")
            again = await claim_one(bench.inbox, run)
            assert again.run == run
            await bench.inbox.settle([settlement(again, Signal.FINISH)])
        lines = (await look(bench.inbox, held.event_id)).history
        assert [(line.run, line.who) for line in lines if line.signal is Signal.REPLAY] == [(2, "ada 2"), (3, "ada 3")]

    async def test_the_force_of_one_replay_does_not_reach_the_next(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=True, who="ada")
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.FINISH)])
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        assert not (await claim_one(bench.inbox, 3)).forced

    async def test_force_survives_a_delay(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DEAD)
        await bench.inbox.replay([held.event_id], forced=True, who="ada")
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.RETRY, due_in=DELAY)])
        await bench.advance(DELAY + 1)
        again = await claim_one(bench.inbox, 3)
        assert (again.run, again.forced) == (2, True)

    @pytest.mark.parametrize("forced", [False, True])
    async def test_a_recovered_run_is_as_forced_as_it_was(
        self,
        bench: Bench,
        forced: bool,  # noqa: FBT001 - pytest passes it by name
    ) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=True, who="ada")
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.FINISH)])
        if not forced:
            await bench.inbox.replay([held.event_id], forced=False, who="ada")
            await bench.inbox.settle([settlement(await claim_one(bench.inbox, 3), Signal.FINISH)])
        for number in (4, 5):  # a ledger may be lost twice
            assert await bench.inbox.recover([held.event_id], who="ada") == 1
            again = await claim_one(bench.inbox, number)
            assert (again.run, again.forced) == (2 if forced else 3, forced)
            await bench.inbox.settle([settlement(again, Signal.FINISH)])

    async def test_a_replay_counts_only_what_it_started(self, bench: Bench) -> None:
        kinds = [State.DONE, State.DEAD, State.UNHANDLED, State.DELAYED, State.CLAIMED, State.READY]
        held = [
            await event_in(bench.inbox, state, what, number=number)
            for number, (state, what) in enumerate(zip(kinds, deliveries(6), strict=True))
        ]
        wanted = [*(one.event_id for one in held), held[0].event_id, delivery("nowhere").event_id]
        assert await bench.inbox.replay(wanted, forced=False, who="ada") == 3
        assert await bench.inbox.replay(wanted, forced=False, who="ada") == 0
        assert await bench.inbox.replay([], forced=False, who="ada") == 0
        assert {one.key for one in await claim(bench.inbox, 9, limit=10) if one.run == 2} == {
            "evt_0000",
            "evt_0001",
            "evt_0002",
        }

    @pytest.mark.parametrize(("state", "signal"), [(State.HELD, Signal.ADMIT), (State.HELD, Signal.DISCARD)])
    async def test_the_line_of_a_decision_says_what_the_event_was_held_for(
        self, bench: Bench, state: State, signal: Signal
    ) -> None:
        held = await event_in(bench.inbox, state)
        assert await getattr(bench.inbox, signal)([held.event_id], who="ada") == 1
        line = (await look(bench.inbox, held.event_id)).history[-1]
        assert (line.signal, line.reason, line.who) == (signal, "late", "ada")

    @pytest.mark.parametrize("signal", [Signal.NO_HANDLER, Signal.PAUSE])
    async def test_the_line_of_what_goes_on_by_itself_says_what_it_waited_for(
        self, bench: Bench, signal: Signal
    ) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        await bench.inbox.settle([settlement(held, signal, reason="what it waits for")])
        back = await bench.inbox.requeue(source=held.source, type=held.type, limit=1)
        assert back + await bench.inbox.resume(limit=1) == 1
        line = (await look(bench.inbox, held.event_id)).history[-1]
        assert (line.reason, line.who) == ("what it waits for", "")

    @pytest.mark.parametrize("state", REPLAYABLE)
    async def test_the_line_of_a_replay_says_whether_it_is_forced(self, bench: Bench, state: State) -> None:
        batch = deliveries(2)
        for number, (forced, reason) in enumerate([(False, ""), (True, "forced")]):
            held = await event_in(bench.inbox, state, batch[number], number=number)
            await bench.inbox.replay([held.event_id], forced=forced, who="ada")
            assert (await look(bench.inbox, held.event_id)).history[-1].reason == reason
            await bench.inbox.settle([settlement(await claim_one(bench.inbox, 10 + number), Signal.FINISH)])

    async def test_recovering_makes_a_done_event_ready_in_the_same_run(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.FINISH)])
        assert await bench.inbox.recover([held.event_id, held.event_id], who="grace") == 1
        again = await claim_one(bench.inbox, 3)
        assert (again.run, again.suspect, again.forced) == (2, False, False)
        line = (await look(bench.inbox, held.event_id)).history[-1]
        assert (line.signal, line.who, line.run) == (Signal.RECOVER, "grace", 2)

    async def test_a_forced_run_is_still_forced_when_it_is_recovered(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=True, who="ada")
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.FINISH)])
        await bench.inbox.recover([held.event_id], who="grace")
        again = await claim_one(bench.inbox, 3)
        assert (again.run, again.forced) == (2, True)

    @pytest.mark.req("R61")
    async def test_the_census_counts_every_event_in_exactly_one_state(self, bench: Bench) -> None:
        kinds = [State.DONE, *(state for state in State if state is not State.READY), State.READY]
        for number, (state, what) in enumerate(zip(kinds, deliveries(len(kinds)), strict=True)):
            await event_in(bench.inbox, state, what, number=number)
        census = await bench.inbox.census()
        assert census.inbox == await bench.inbox.identity()
        assert census.events == len(kinds)
        assert {state: census.states.get(state, 0) for state in State} == {state: kinds.count(state) for state in State}
        assert census.oldest_ready == DAWN + timedelta(seconds=len(kinds) - 1)

    async def test_the_census_of_an_empty_inbox_is_empty(self, bench: Bench) -> None:
        census = await bench.inbox.census()
        assert (census.events, sum(census.states.values()), dict(census.tallies)) == (0, 0, {})
        assert (census.running_boots, census.unclean_boots, census.oldest_ready) == (0, 0, None)

    async def test_a_replayed_event_is_counted_once(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        census = await bench.inbox.census()
        assert (census.events, census.states.get(State.READY, 0), census.states.get(State.DONE, 0)) == (1, 1, 0)

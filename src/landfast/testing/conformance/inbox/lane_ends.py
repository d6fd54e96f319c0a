"""Lanes: what zombies, replays and operators do to them, and what operators see."""

from __future__ import annotations

import pytest

from landfast.domain.lane import place_of
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Settlement
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, look, state_of
from landfast.testing.conformance.inbox.lane_bench import SOURCE, LaneBench, keys, of_lane, queue, settled
from landfast.testing.factory import DELAY, settlement, token


class LaneEndConformance(LaneBench):
    async def test_a_zombie_finishes_what_is_queued_and_the_lane_goes_on(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 2, 3)
        second, third = await self.ids(2, 3)
        zombie = Settlement(second, 1, token(77), Signal.FINISH)
        await ordered.inbox.settle([settled(first, Signal.RETRY, due_in=DELAY)])
        assert list(await ordered.inbox.settle([zombie])) == [True]
        assert await state_of(ordered.inbox, third) is State.QUEUED
        await ordered.inbox.settle([Settlement(first.event_id, 1, token(78), Signal.FINISH)])
        assert await state_of(ordered.inbox, third) is State.READY

    async def test_a_replay_of_what_is_done_neither_holds_nor_waits(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(2))
        second = await claim_one(ordered.inbox, 1)
        await ordered.inbox.settle([settled(second, Signal.FINISH)])
        await ordered.inbox.record(of_lane(1))
        await claim(ordered.inbox, 2)
        assert await ordered.inbox.replay([second.event_id], forced=True, who="ada") == 1
        (again,) = await claim(ordered.inbox, 3, limit=9)
        assert (again.holds, again.is_behind, again.place) == (False, False, second.place)

    async def test_a_replay_of_a_dead_letter_that_blocks_takes_its_own_place(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 2)
        await ordered.inbox.settle([settled(first, Signal.BURY)])
        assert await ordered.inbox.replay([first.event_id], forced=False, who="ada") == 1
        taken = await claim(ordered.inbox, 3, limit=9)
        assert keys(taken, is_behind=False) == ["1", "2"]

    async def test_a_replay_of_a_dead_letter_that_was_skipped_neither_holds_nor_waits(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 2)
        await ordered.inbox.settle([settled(first, Signal.BURY, is_passed=True)])
        (second,) = await claim(ordered.inbox, 3, limit=9)
        assert await ordered.inbox.replay([first.event_id], forced=False, who="ada") == 1
        (again,) = await claim(ordered.inbox, 4, limit=9)
        assert (second.is_behind, again.holds, again.is_behind) == (False, False, False)

    async def test_an_unhandled_event_does_not_hold_and_holds_again_when_it_is_requeued(self, ordered: Bench) -> None:
        await self.blocked(ordered, 2, signal=Signal.NO_HANDLER, is_passed=True)
        assert keys(await claim(ordered.inbox, 3, limit=9), is_behind=False) == ["2"]
        assert await ordered.inbox.requeue(source=SOURCE, type="order.created", limit=9) == 1
        await ordered.inbox.record(of_lane(3))
        assert keys(await claim(ordered.inbox, 4, limit=9)) == ["1", "3"]
        assert (await ordered.inbox.in_lane((await self.ids(3))[0])) is not None

    async def test_what_nobody_handles_lets_its_lane_go_on_although_its_claim_knew_of_none(self, bench: Bench) -> None:
        """Its source was ordered after the claim, and its worker, or a route, does not say that it is passed."""
        await bench.inbox.record(of_lane(1))
        first = await claim_one(bench.inbox, 1)
        await bench.inbox.order([SOURCE])
        await bench.inbox.record(of_lane(2, 3))
        await queue(bench, await claim(bench.inbox, 2, limit=9))
        assert first.lane is None
        assert all(await bench.inbox.settle([settlement(first, Signal.NO_HANDLER, lane=None, is_passed=False)]))
        assert keys(await claim(bench.inbox, 3, limit=9), is_behind=False) == ["2", "3"]
        assert await bench.inbox.in_lane(first.event_id) is None
        assert await bench.inbox.requeue(source=SOURCE, type="order.created", limit=9) == 1
        assert (await claim_one(bench.inbox, 4)).holds

    async def test_a_held_event_does_not_hold_and_holds_when_it_is_admitted(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, hold="late"))
        await ordered.inbox.record(of_lane(2))
        (second,) = await claim(ordered.inbox, 1, limit=9)
        assert not second.is_behind
        assert await ordered.inbox.admit(await self.ids(1), who="ada") == 1
        (first,) = await claim(ordered.inbox, 2, limit=9)
        assert (first.holds, first.is_behind) == (True, False)

    @pytest.mark.parametrize("was", ["done", "skipped", "discarded"])
    async def test_a_replay_of_what_its_lane_has_passed_does_not_hold_when_it_is_admitted(
        self, ordered: Bench, was: str
    ) -> None:
        await ordered.inbox.record(of_lane(1, hold="late" if was == "discarded" else ""))
        first, (what,) = await self.ids(1), of_lane(1)
        if was == "discarded":
            assert await ordered.inbox.discard(first, who="ada") == 1
        else:
            how = Signal.FINISH if was == "done" else Signal.BURY
            await ordered.inbox.settle([settled(await claim_one(ordered.inbox, 1), how)])
        if was == "skipped":
            assert await ordered.inbox.skip(first, who="ada") == 1
        assert await ordered.inbox.replay(first, forced=True, who="ada") == 1
        assert await ordered.inbox.hold(first, who="ada", why="ask the shop") == 1
        assert await ordered.inbox.admit(first, who="ada") == 1
        again = await claim_one(ordered.inbox, 2)
        assert (again.run, again.holds, again.place) == (2, False, place_of(what.occurred_at, what.received_at))
        await ordered.inbox.settle([settled(again, Signal.NO_HANDLER)])
        assert await ordered.inbox.requeue(source=SOURCE, type="order.created", limit=9) == 1
        await ordered.inbox.settle([settled(await claim_one(ordered.inbox, 3), Signal.BURY)])
        await ordered.inbox.record(of_lane(2))
        assert not (await claim_one(ordered.inbox, 4)).is_behind

    @pytest.mark.parametrize("was", [State.DEAD, State.UNHANDLED])
    async def test_a_replay_of_what_its_lane_has_not_passed_holds_when_it_is_admitted(
        self, ordered: Bench, was: State
    ) -> None:
        await ordered.inbox.record(of_lane(1))
        how = Signal.BURY if was is State.DEAD else Signal.NO_HANDLER
        await ordered.inbox.settle([settled(await claim_one(ordered.inbox, 1), how)])
        assert await ordered.inbox.replay(await self.ids(1), forced=False, who="ada") == 1
        assert await ordered.inbox.hold(await self.ids(1), who="ada", why="ask the shop") == 1
        assert await ordered.inbox.admit(await self.ids(1), who="ada") == 1
        again = await claim_one(ordered.inbox, 2)
        assert (again.run, again.holds) == (2, True)

    async def test_what_is_recovered_holds_its_lane_again(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1))
        first = await claim_one(ordered.inbox, 1)
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        assert await ordered.inbox.recover([first.event_id], who="ada") == 1
        again = await claim_one(ordered.inbox, 2)
        assert (again.holds, again.run, again.place) == (True, 1, first.place)

    @pytest.mark.parametrize("how", ["close", "erase", "skip"])
    async def test_an_operator_has_a_blocked_lane_go_on(self, ordered: Bench, how: str) -> None:
        first = await self.blocked(ordered, 2)
        (second,) = await self.ids(2)
        await ordered.inbox.settle([settled(first, Signal.BURY, handler="sync", error="KeyError", reason="permanent")])
        before = await look(ordered.inbox, first.event_id)
        if how == "close":
            assert await ordered.inbox.close_dead([first.event_id], who="ada", why="a test") == 1
        elif how == "erase":
            assert await ordered.inbox.erase([first.event_id], who="ada")
        else:
            assert await ordered.inbox.skip([first.event_id, second], who="ada") == 1
            now = await look(ordered.inbox, first.event_id)
            assert now.summary == before.summary
            assert (now.history[-1].signal, now.history[-1].who) == (Signal.SKIP, "ada")
        assert await state_of(ordered.inbox, second) is State.READY

    async def test_a_lane_that_waits_says_for_what_and_how_many_wait(self, ordered: Bench) -> None:
        assert await ordered.inbox.lanes(limit=9) == []
        first = await self.blocked(ordered, 2, 3)
        (lane,) = await ordered.inbox.lanes(limit=9)
        assert (lane.source, lane.entity, lane.waiting) == (SOURCE, "cus_1", 2)
        assert (lane.event_id, lane.state) == (first.event_id, State.CLAIMED)
        await ordered.inbox.settle([settled(first, Signal.BURY, handler="sync", error="KeyError", reason="permanent")])
        (lane,) = await ordered.inbox.lanes(limit=9)
        assert (lane.event_id, lane.state, lane.handler, lane.error) == (
            first.event_id, State.DEAD, "sync", "KeyError",
        )  # fmt: skip
        assert lane.since is not None
        second, third = await self.ids(2, 3)
        standing = [await ordered.inbox.in_lane(each) for each in (first.event_id, second, third)]
        assert [each and each.behind for each in standing] == [None, first.event_id, first.event_id]
        assert await ordered.inbox.lanes(limit=0) == []

    async def test_queued_events_are_counted(self, ordered: Bench) -> None:
        await self.blocked(ordered, 2, 3)
        census = await ordered.inbox.census()
        assert (census.states[State.QUEUED], census.states[State.CLAIMED]) == (2, 1)

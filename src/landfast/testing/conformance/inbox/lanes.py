"""Workbench and Lanes: order per entity. What is behind goes on in the COMMIT that passes what it waited for."""

from __future__ import annotations

import pytest

from landfast.domain.lane import place_of
from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, claim_suspect, look, state_of
from landfast.testing.conformance.inbox.lane_bench import SOURCE, LaneBench, keys, of_lane, queue, settled
from landfast.testing.factory import DELAY, LEASE, settlement, token


class LaneConformance(LaneBench):
    async def test_an_event_has_its_place_and_holds_its_lane(self, ordered: Bench) -> None:
        (what,) = of_lane(1)
        await ordered.inbox.record([what])
        held = await claim_one(ordered.inbox, 1)
        assert held.place == place_of(what.occurred_at, what.received_at)
        assert (held.holds, held.is_behind, held.lane) == (True, False, (SOURCE, "cus_1"))

    async def test_without_an_ordered_source_or_an_entity_nothing_holds(self, bench: Bench) -> None:
        await bench.inbox.record(of_lane(1, 2))
        assert [(each.holds, each.is_behind) for each in await claim(bench.inbox, 1)] == [(False, False)]
        await bench.inbox.order([SOURCE])
        await bench.inbox.record(of_lane(3, 4, entity=None))
        of_none = [each for each in await claim(bench.inbox, 2, limit=9) if each.entity is None]
        assert [(each.holds, each.is_behind, each.lane) for each in of_none] == [(False, False, None)] * 2

    async def test_what_waited_when_its_source_became_ordered_holds_its_lane(self, bench: Bench) -> None:
        await bench.inbox.record(of_lane(1, 2, 3))
        first = await claim_one(bench.inbox, 1)
        await bench.inbox.settle([settlement(first, Signal.RETRY, due_in=DELAY)])
        await bench.inbox.order([SOURCE])
        await bench.inbox.order([SOURCE])
        assert keys(await claim(bench.inbox, 2, limit=9), is_behind=True) == ["2", "3"]

    async def test_places_go_by_the_senders_time_and_then_by_arrival(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(3, 1))
        await ordered.inbox.record(of_lane(2))
        assert keys(await claim(ordered.inbox, 1, limit=9)) == ["1", "2", "3"]

    async def test_one_who_claims_them_together_has_none_behind(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2, 3))
        assert keys(await claim(ordered.inbox, 1, limit=9), is_behind=False) == ["1", "2", "3"]

    async def test_what_another_holds_is_before_ours(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2))
        await ordered.inbox.record(of_lane(1, entity="cus_2"))
        await claim(ordered.inbox, 1)
        others = await claim(ordered.inbox, 2, limit=9)
        assert [(each.entity, each.is_behind) for each in others] == [("cus_1", True), ("cus_2", False)]

    @pytest.mark.parametrize("signal", [Signal.RETRY, Signal.PAUSE, Signal.REFUSE, Signal.BURY, Signal.RELEASE])
    async def test_an_event_holds_its_lane_in_whatever_state_until_it_is_passed(
        self, ordered: Bench, signal: Signal
    ) -> None:
        await ordered.inbox.record(of_lane(1, 2))
        first = await claim_one(ordered.inbox, 1)
        second = await claim_one(ordered.inbox, 2)
        await queue(ordered, [second])
        await ordered.inbox.settle([settled(first, signal, due_in=DELAY, reason="handler:none")])
        assert await state_of(ordered.inbox, second.event_id) is State.QUEUED

    @pytest.mark.parametrize("signal", [Signal.RETRY, Signal.PAUSE, Signal.BURY, Signal.NO_HANDLER, Signal.RELEASE])
    async def test_one_that_is_passed_lets_its_lane_go_on_in_whatever_state(
        self, ordered: Bench, signal: Signal
    ) -> None:
        await ordered.inbox.record(of_lane(1, 2))
        first, second = await claim_one(ordered.inbox, 1), await claim_one(ordered.inbox, 2)
        await queue(ordered, [second])
        await ordered.inbox.settle([settled(first, signal, due_in=DELAY, is_passed=True)])
        assert await state_of(ordered.inbox, second.event_id) is State.READY
        (again,) = [each for each in await claim(ordered.inbox, 3, limit=9) if each.key == second.key]
        assert not again.is_behind

    async def test_the_first_queued_one_goes_on_and_the_others_wait_for_it(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2, 3))
        first = await claim_one(ordered.inbox, 1)
        rest = await claim(ordered.inbox, 2, limit=9)
        await queue(ordered, rest)
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        assert [await state_of(ordered.inbox, each.event_id) for each in rest] == [State.READY, State.QUEUED]

    async def test_a_queued_event_whose_lane_went_on_meanwhile_is_ready_at_once(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2))
        first, second = await claim_one(ordered.inbox, 1), await claim_one(ordered.inbox, 2)
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        await queue(ordered, [second])
        assert await state_of(ordered.inbox, second.event_id) is State.READY

    async def test_both_in_one_batch_in_either_order(self, ordered: Bench) -> None:
        for number, turned in enumerate([False, True]):
            await ordered.inbox.record(of_lane(1, 2, entity=f"cus_{number}"))
            first, second = await claim_one(ordered.inbox, 1), await claim_one(ordered.inbox, 2)
            batch = [settled(first, Signal.FINISH), settled(second, Signal.QUEUE)]
            await ordered.inbox.settle(batch[::-1] if turned else batch)
            assert await state_of(ordered.inbox, second.event_id) is State.READY
            await ordered.inbox.settle([settled(await claim_one(ordered.inbox, 3), Signal.FINISH)])

    async def test_promoting_and_pulling_add_no_line_of_history_and_queueing_adds_one(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2, 3))
        first = await claim_one(ordered.inbox, 1)
        rest = await claim(ordered.inbox, 2, limit=9)
        await queue(ordered, rest)
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        await claim(ordered.inbox, 3, limit=9)
        lines = [(await look(ordered.inbox, each.event_id)).history for each in rest]
        assert [[line.signal for line in each] for each in lines] == [[Signal.QUEUE]] * 2

    async def test_a_claim_of_the_front_pulls_along_what_is_queued_behind_it(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 2, 3, 4, 5)
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        taken = await claim(ordered.inbox, 3, limit=3)
        assert keys(taken, is_behind=False) == ["2", "3", "4", "5"]
        assert {each.token for each in taken} == {token(3)}
        assert not await claim(ordered.inbox, 4, limit=9)

    async def test_a_claim_pulls_no_more_than_its_limit_and_the_rest_goes_on_later(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, *range(2, 9))
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        seen: list[str] = []
        while taken := await claim(ordered.inbox, 3, limit=2):
            assert len(taken) <= 4
            seen += keys(taken, is_behind=False)
            await ordered.inbox.settle([settled(each, Signal.FINISH) for each in taken])
        assert seen == [str(number) for number in range(2, 9)]

    async def test_nothing_is_pulled_past_what_waits_for_something_else(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 2, 4)
        await ordered.inbox.record(of_lane(3))
        third = await claim_one(ordered.inbox, 5)
        assert third.is_behind
        await ordered.inbox.settle([settled(third, Signal.RETRY, due_in=DELAY)])
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        assert keys(await claim(ordered.inbox, 6, limit=9)) == ["2"]

    async def test_what_is_held_by_hand_lets_its_lane_go_on_and_holds_it_again(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 2, 3, signal=Signal.RETRY, due_in=DELAY)
        assert await ordered.inbox.hold([first.event_id], who="ada", why="ask the shop") == 1
        assert keys(await claim(ordered.inbox, 3, limit=9), is_behind=False) == ["2", "3"]
        assert await ordered.inbox.admit([first.event_id], who="ada") == 1
        again = await claim_one(ordered.inbox, 4)
        assert (again.event_id, again.lane) == (first.event_id, (SOURCE, "cus_1"))

    async def test_only_the_front_pulls(self, ordered: Bench) -> None:
        await self.blocked(ordered, 3)
        await ordered.inbox.record(of_lane(2))
        behind = await claim(ordered.inbox, 6, limit=9)
        assert keys(behind, is_behind=True) == keys(behind) == ["2"]

    async def test_an_older_event_that_arrives_now_goes_before_what_still_waits(self, ordered: Bench) -> None:
        first = await self.blocked(ordered, 3)
        await ordered.inbox.record(of_lane(2))
        await queue(ordered, await claim(ordered.inbox, 6))
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        assert keys(await claim(ordered.inbox, 7, limit=1)) == ["2", "3"]

    async def test_a_queued_event_keeps_its_tries_and_its_suspicion(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2))
        first = await claim_one(ordered.inbox, 1)
        await claim_one(ordered.inbox, 2)
        await ordered.inbox.renew(tokens=[token(1)], lease=10 * LEASE)
        await ordered.advance(LEASE + 1)
        suspect = await claim_suspect(ordered.inbox, 3)
        assert (suspect.key, suspect.is_behind, suspect.crashes) == ("cus_1:2", True, 0)
        await queue(ordered, [suspect])
        await ordered.inbox.settle([settled(first, Signal.FINISH)])
        assert not await claim(ordered.inbox, 4, limit=9)
        again = await claim_suspect(ordered.inbox, 5)
        assert (again.key, again.is_behind, again.crashes) == ("cus_1:2", False, 0)

    async def test_a_suspect_is_not_pulled_along(self, ordered: Bench) -> None:
        await ordered.inbox.record(of_lane(1, 2, 3))
        first = await claim_one(ordered.inbox, 1)
        rest = await claim(ordered.inbox, 2, limit=9)
        await ordered.inbox.renew(tokens=[token(1)], lease=10 * LEASE)
        await queue(ordered, rest[1:])
        await ordered.advance(LEASE + 1)
        await queue(ordered, [await claim_suspect(ordered.inbox, 3)])
        await ordered.inbox.settle([settled(first, Signal.RELEASE)])
        assert keys(await claim(ordered.inbox, 4, limit=9)) == ["1"]

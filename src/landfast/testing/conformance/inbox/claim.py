"""Workbench: claim, renew, abandon."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from landfast.domain.flow import FLOWS_AT_MOST, Flow
from landfast.domain.ids import WorkerId
from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.bench import (
    Bench,
    claim,
    claim_flows,
    claim_one,
    claim_suspect,
    look,
    state_of,
)
from landfast.testing.factory import DELAY, LEASE, WORKER, deliveries, delivery, event_in, settlement, token

OTHER = WorkerId(b"worker-2")
OF_ANOTHER_SOURCE = delivery("4", source="market", type="b")


class ClaimConformance:
    async def test_an_empty_inbox_has_nothing_to_claim(self, bench: Bench) -> None:
        assert not await claim(bench.inbox, 1, limit=10)

    async def test_a_claim_carries_its_token_and_its_event_is_claimed(self, bench: Bench) -> None:
        await bench.inbox.record([delivery()])
        claimed = await claim_one(bench.inbox, 7)
        assert claimed.token == token(7)
        assert await state_of(bench.inbox, claimed.event_id) is State.CLAIMED

    async def test_a_claimed_event_says_which_worker_has_it_and_since_when(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        in_hand = (await look(bench.inbox, held.event_id)).in_hand
        assert in_hand is not None
        assert in_hand.worker == WORKER.hex()
        assert in_hand.since is not None
        await bench.inbox.settle([settlement(held, Signal.RELEASE)])
        assert (await look(bench.inbox, held.event_id)).in_hand is None

    async def test_claims_come_oldest_first_and_no_more_than_the_limit(self, bench: Bench) -> None:
        expected = deliveries(9)
        for what in expected:
            await bench.inbox.record([what])
        got = [await claim(bench.inbox, number, limit=4) for number in range(4)]
        assert [len(batch) for batch in got] == [4, 4, 1, 0]
        assert [one.key for batch in got for one in batch] == [what.key for what in expected]

    async def test_no_event_is_leased_twice_at_a_time(self, bench: Bench) -> None:
        inboxes = [bench.inbox, await bench.another()]
        await bench.inbox.record(deliveries(100))
        batches = await asyncio.gather(*(claim(inboxes[number % 2], number, limit=7) for number in range(30)))
        seen = [one.event_id for batch in batches for one in batch]
        assert len(seen) == len(set(seen)) <= 100
        rest = await claim(bench.inbox, 99, limit=100)  # a driver may pass over rows that a neighbour is claiming
        assert len(set(seen) | {one.event_id for one in rest}) == len(seen) + len(rest) == 100

    async def test_claiming_changes_no_counter(self, bench: Bench) -> None:
        await bench.inbox.record([delivery()])
        for number in range(5):
            claimed = await claim_one(bench.inbox, number)
            assert (claimed.run, claimed.crashes, dict(claimed.tries)) == (1, 0, {})
            await bench.inbox.settle([settlement(claimed, Signal.RELEASE)])

    async def test_claiming_adds_no_line_of_history(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        assert (await look(bench.inbox, held.event_id)).history == ()

    async def test_an_expired_claim_is_not_claimed_in_a_group_again(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        assert not await claim(bench.inbox, 2, limit=10)

    async def test_delayed_events_are_claimed_once_they_are_due_and_not_before(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DELAYED)
        await bench.advance(DELAY - 1)
        assert not await claim(bench.inbox, 2)
        assert await state_of(bench.inbox, held.event_id) is State.DELAYED
        await bench.advance(2)
        assert (await claim_one(bench.inbox, 3)).event_id == held.event_id

    async def test_a_woken_event_is_claimed_after_those_that_were_ready_before_it(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.DELAYED, delivery("early"))
        await bench.inbox.record([delivery("late")])
        await bench.advance(DELAY + 1)
        assert [one.key for one in await claim(bench.inbox, 2, limit=10)] == ["late", "early"]

    async def test_many_delayed_events_are_all_woken(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(50))
        held = await claim(bench.inbox, 1, limit=50)
        await bench.inbox.settle(
            [settlement(one, Signal.RETRY, due_in=float(number)) for number, one in enumerate(held)]
        )
        await bench.advance(25.5)
        assert len(await claim(bench.inbox, 2, limit=100)) == 26
        await bench.advance(25)
        assert len(await claim(bench.inbox, 3, limit=100)) == 24

    async def test_flows_are_the_sources_and_types_that_have_ready_events_oldest_first_by_their_places(
        self, bench: Bench
    ) -> None:
        assert not (await bench.inbox.flows()).flows
        for what in (delivery("1", type="b"), delivery("2", type="a"), delivery("3", type="b"), OF_ANOTHER_SOURCE):
            await bench.inbox.record([what])
        flows = sorted((await bench.inbox.flows()).flows, key=lambda flow: flow.first)
        assert _names(flows) == [("shop", "b"), ("shop", "a"), ("market", "b")]
        await claim(bench.inbox, 1, limit=1)
        flows = sorted((await bench.inbox.flows()).flows, key=lambda flow: flow.first)
        assert _names(flows) == [("shop", "a"), ("shop", "b"), ("market", "b")]

    async def test_a_claim_of_flows_takes_their_events_alone_oldest_first(self, bench: Bench) -> None:
        for number in range(12):
            await bench.inbox.record([delivery(f"{number:02}", type="abc"[number % 3])])
        wanted = [flow for flow in (await bench.inbox.flows()).flows if flow.type in "ac"]
        got = [await claim_flows(bench.inbox, number, wanted, limit=3) for number in range(4)]
        assert [[one.key for one in batch] for batch in got] == [
            ["00", "02", "03"],
            ["05", "06", "08"],
            ["09", "11"],
            [],
        ]
        assert _names((await bench.inbox.flows()).flows) == [("shop", "b")]
        assert not await claim_flows(bench.inbox, 9, [], limit=3)

    async def test_one_event_behind_many_of_another_type_is_claimed_next(self, bench: Bench) -> None:
        await bench.inbox.record([delivery(f"many {n}", type="quick") for n in range(500)])
        await claim(bench.inbox, 1, limit=100)
        await bench.inbox.record([delivery("one", type="rare")])
        rare = [flow for flow in (await bench.inbox.flows()).flows if flow.type == "rare"]
        assert [one.key for one in await claim_flows(bench.inbox, 2, rare, limit=100)] == ["one"]

    async def test_no_event_of_a_flow_is_leased_twice_at_a_time(self, bench: Bench) -> None:
        inboxes = [bench.inbox, await bench.another()]
        await bench.inbox.record(deliveries(100))
        flows = (await bench.inbox.flows()).flows
        batches = await asyncio.gather(*(claim_flows(inboxes[n % 2], n, flows, limit=7) for n in range(30)))
        seen = [one.event_id for batch in batches for one in batch]
        assert len(seen) == len(set(seen)) <= 100
        rest = await claim_flows(bench.inbox, 99, flows, limit=100)
        assert len(set(seen) | {one.event_id for one in rest}) == len(seen) + len(rest) == 100

    async def test_delayed_events_are_in_their_flows_once_they_are_due(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DELAYED)
        await bench.advance(DELAY - 1)
        assert not (await bench.inbox.flows()).flows
        await bench.advance(2)
        (only,) = await claim_flows(bench.inbox, 3, (await bench.inbox.flows()).flows)
        assert only.event_id == held.event_id

    async def test_suspects_and_expired_claims_are_in_no_flow(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        flow = Flow(held.source, held.type)
        await bench.advance(LEASE + 1)
        assert not (await bench.inbox.flows()).flows
        assert not await claim_flows(bench.inbox, 2, [flow])
        suspect = await claim_suspect(bench.inbox, 3)
        await bench.inbox.settle([settlement(suspect, Signal.RELEASE)])
        assert not (await bench.inbox.flows()).flows
        assert not await claim_flows(bench.inbox, 4, [flow])

    async def test_more_types_than_one_look_finds_are_all_found_in_turn(self, bench: Bench) -> None:
        await bench.inbox.record([delivery(f"{n}", type=f"made.up.{n}") for n in range(450)])
        seen = set[str]()
        for _ in range(3):
            seen |= {flow.type for flow in (await bench.inbox.flows()).flows}
        assert len(seen) == 450

    @pytest.mark.parametrize("count", [FLOWS_AT_MOST, FLOWS_AT_MOST + 1, 2 * FLOWS_AT_MOST])
    async def test_no_look_comes_back_empty_or_short_while_there_are_more_types(self, bench: Bench, count: int) -> None:
        await bench.inbox.record([delivery(f"{n}", type=f"made.up.{n:04}") for n in range(count)])
        for _ in range(5):
            assert len((await bench.inbox.flows()).flows) >= FLOWS_AT_MOST

    async def test_types_of_which_nothing_is_ready_do_not_hide_those_behind_them(self, bench: Bench) -> None:
        await bench.inbox.record([delivery(f"{n}", type=f"a.{n:04}") for n in range(FLOWS_AT_MOST)])
        await claim(bench.inbox, 1, limit=FLOWS_AT_MOST)
        await bench.inbox.record([delivery("ready", type="b")])
        for _ in range(3):
            assert _names((await bench.inbox.flows()).flows) == [("shop", "b")]

    async def test_renewing_extends_the_leases_under_these_tokens(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(2))
        await claim(bench.inbox, 1)
        await claim(bench.inbox, 2)
        for _ in range(3):
            await bench.advance(LEASE - 5)
            await bench.inbox.renew(tokens=[token(1), token(2)], lease=LEASE)
        assert not await bench.inbox.has_suspects()
        await bench.advance(LEASE + 1)
        assert await bench.inbox.has_suspects()

    async def test_renewing_leaves_every_other_lease_alone_also_those_of_the_same_worker(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(1))
        await claim(bench.inbox, 1)
        await bench.advance(LEASE - 5)
        await bench.inbox.renew(tokens=[token(2), token(1, OTHER)], lease=LEASE)
        await bench.inbox.renew(tokens=[], lease=LEASE)
        await bench.advance(6)
        assert await bench.inbox.has_suspects()

    async def test_a_lease_that_has_expired_is_not_renewed(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        await bench.inbox.renew(tokens=[held.token], lease=LEASE)
        assert await bench.inbox.has_suspects()

    async def test_abandoning_expires_every_lease_of_the_dead_worker_only(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(5))
        await claim(bench.inbox, 1, limit=2)
        await claim(bench.inbox, 2)
        await bench.inbox.claim(token=token(1, OTHER), lease=LEASE, limit=2)
        assert await bench.inbox.abandon(worker=WORKER) == 3
        found = set()
        while suspect := await bench.inbox.claim_suspect(token=token(9), lease=LEASE):
            found.add(suspect.key)
        assert len(found) == 3
        assert await bench.inbox.abandon(worker=WorkerId(b"nobody--")) == 0


def _names(flows: Sequence[Flow]) -> list[tuple[str, str]]:
    return [(flow.source, flow.type) for flow in flows]

"""Held and paused events: recorded as held, admitted, discarded; paused and resumed."""

from __future__ import annotations

import msgspec
import pytest

from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Claim, Tries
from landfast.domain.switch import SwitchKind, pause_reason
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, claim_suspect, look, state_of
from landfast.testing.factory import LEASE, deliveries, delivery, event_in, settlement, token

PAUSED = pause_reason(SwitchKind.SOURCE, "shop")


class HeldConformance:
    async def test_a_delivery_that_says_so_is_stored_and_held(self, bench: Bench) -> None:
        what = delivery(hold="late", entity="cus_1")
        (recorded,) = await bench.inbox.record([what])
        assert recorded.is_new
        kept = await look(bench.inbox, what.event_id)
        assert (kept.summary.state, kept.summary.reason, kept.summary.run) == (State.HELD, "late", 1)
        assert (kept.body, kept.summary.entity, kept.history) == (what.body, "cus_1", ())

    async def test_what_is_held_waits_for_ever(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.HELD)
        await bench.advance(10_000_000)
        assert not await claim(bench.inbox, 2, limit=10)
        assert await bench.inbox.claim_suspect(token=token(3), lease=LEASE) is None

    async def test_of_a_batch_only_what_says_so_is_held(self, bench: Bench) -> None:
        batch = deliveries(6)
        batch[1::2] = [msgspec.structs.replace(what, hold="variant") for what in batch[1::2]]
        assert all(one.is_new for one in await bench.inbox.record(batch))
        assert {one.key for one in await claim(bench.inbox, 1, limit=10)} == {what.key for what in batch[::2]}
        assert [await state_of(bench.inbox, what.event_id) for what in batch[1::2]] == [State.HELD] * 3

    async def test_the_first_delivery_decides_whether_an_event_is_held(self, bench: Bench) -> None:
        held, free = delivery("held", hold="late"), delivery("free")
        batch = [held, free, delivery("held"), delivery("free", hold="late")]
        assert [one.is_new for one in await bench.inbox.record(batch)] == [True, True, False, False]
        assert not any(one.is_new for one in await bench.inbox.record(batch[2:]))
        assert [await state_of(bench.inbox, what.event_id) for what in (held, free)] == [State.HELD, State.READY]

    async def test_an_admitted_event_is_processed_as_any_other(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.HELD)
        assert await bench.inbox.admit([held.event_id], who="ada") == 1
        claimed = await claim_one(bench.inbox, 2)
        assert (claimed.event_id, claimed.run, claimed.forced, claimed.suspect) == (held.event_id, 1, False, False)
        assert (claimed.body, claimed.crashes, dict(claimed.tries)) == (held.body, 0, {})
        assert list(await bench.inbox.settle([settlement(claimed, Signal.FINISH)])) == [True]

    async def test_a_discarded_event_is_a_dead_letter_that_can_be_replayed(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.HELD)
        assert await bench.inbox.discard([held.event_id], who="ada") == 1
        summary = (await look(bench.inbox, held.event_id)).summary
        assert (summary.state, summary.reason, summary.message) == (State.DEAD, "discarded", "was held: late")
        assert await bench.inbox.replay([held.event_id], forced=False, who="grace") == 1
        assert (await claim_one(bench.inbox, 2)).run == 2

    @pytest.mark.parametrize("signal", [Signal.ADMIT, Signal.DISCARD])
    async def test_the_line_says_who_and_what_it_was_held_for(self, bench: Bench, signal: Signal) -> None:
        held = await event_in(bench.inbox, State.HELD)
        decide = bench.inbox.admit if signal is Signal.ADMIT else bench.inbox.discard
        assert await decide([held.event_id, held.event_id], who="ada") == 1
        assert await decide([held.event_id], who="grace") == 0
        (line,) = (await look(bench.inbox, held.event_id)).history
        assert (line.signal, line.who, line.reason, line.run) == (signal, "ada", "late", 1)

    @pytest.mark.parametrize("signal", [Signal.ADMIT, Signal.DISCARD])
    async def test_an_operator_decides_about_held_events_only(self, bench: Bench, signal: Signal) -> None:
        states = [*(state for state in State if state is not State.READY), State.READY]
        made = [
            await event_in(bench.inbox, state, what, number=number)
            for number, (state, what) in enumerate(zip(states, deliveries(len(states)), strict=True))
        ]
        decide = bench.inbox.admit if signal is Signal.ADMIT else bench.inbox.discard
        assert await decide([one.event_id for one in made], who="ada") == 1
        assert await decide([delivery("nowhere").event_id], who="ada") == 0
        assert await decide([], who="ada") == 0
        now = [await state_of(bench.inbox, one.event_id) for one in made]
        assert [state for state, was in zip(now, states, strict=True) if was is not State.HELD] == [
            state for state in states if state is not State.HELD
        ]

    async def test_who_holds_an_event_leaves_its_tries_and_says_why(self, bench: Bench) -> None:
        made = await event_in(bench.inbox, State.CLAIMED)
        tries = {HandlerName("create_order"): Tries(2, 9.5)}
        assert list(await bench.inbox.settle([settlement(made, Signal.RETRY, tries=tries, due_in=9)])) == [True]
        assert await bench.inbox.hold([made.event_id, made.event_id], who="ada", why="ask the shop") == 1
        assert await bench.inbox.hold([made.event_id, delivery("nowhere").event_id], who="grace", why="again") == 0
        kept = await look(bench.inbox, made.event_id)
        assert (kept.summary.state, kept.summary.reason, kept.summary.due_at) == (State.HELD, "operator", None)
        assert kept.summary.message == "ask the shop"
        line = kept.history[-1]
        assert (line.signal, line.who, line.reason, line.run) == (Signal.HOLD, "ada", "operator", 1)
        assert [(one.handler, one.number, one.message) for one in line.attempts] == [("", 0, "ask the shop")]
        await bench.advance(10_000_000)
        assert not await claim(bench.inbox, 2, limit=10)
        assert await bench.inbox.admit([made.event_id], who="grace") == 1
        assert dict((await claim_one(bench.inbox, 3)).tries) == tries

    async def test_paused_events_are_resumed_when_their_switch_is_lifted(self, bench: Bench) -> None:
        await bench.inbox.throw(SwitchKind.SOURCE, "shop", why="a fix", who="ada")
        await bench.inbox.throw(SwitchKind.HANDLER, "tell_crm", why="a fix", who="ada")
        shop = await _paused(bench, "shop", PAUSED)
        crm = await _paused(bench, "crm", pause_reason(SwitchKind.HANDLER, "tell_crm"))
        await bench.advance(10_000_000)
        assert await bench.inbox.resume(limit=10) == 0
        await bench.inbox.lift(SwitchKind.SOURCE, "shop")
        assert await bench.inbox.resume(limit=10) == 1
        assert [one.event_id for one in await claim(bench.inbox, 9, limit=10)] == [shop.event_id]
        assert await state_of(bench.inbox, crm.event_id) is State.PAUSED
        lines = (await look(bench.inbox, shop.event_id)).history
        assert [(line.signal, line.state) for line in lines] == [
            (Signal.PAUSE, State.PAUSED),
            (Signal.RESUME, State.READY),
        ]

    async def test_paused_events_are_resumed_when_their_switch_has_run_out(self, bench: Bench) -> None:
        await bench.inbox.throw(SwitchKind.SOURCE, "shop", why="a fix", who="ada", lasting=30)
        await _paused(bench, "evt_1", PAUSED)
        await bench.advance(29)
        assert await bench.inbox.resume(limit=10) == 0
        await bench.advance(2)
        assert await bench.inbox.resume(limit=10) == 1

    async def test_an_event_that_is_paused_too_late_is_resumed(self, bench: Bench) -> None:
        """Its worker did not know yet that the switch was lifted."""
        await _paused(bench, "evt_1", PAUSED)
        assert await bench.inbox.resume(limit=10) == 1
        assert await bench.inbox.resume(limit=10) == 0

    async def test_paused_events_are_resumed_oldest_first_and_no_more_than_the_limit(self, bench: Bench) -> None:
        batch = deliveries(5)
        await bench.inbox.record(batch)
        held = await claim(bench.inbox, 1, limit=5)
        assert all(await bench.inbox.settle([settlement(one, Signal.PAUSE, reason=PAUSED) for one in held]))
        assert [await bench.inbox.resume(limit=2) for _ in range(4)] == [2, 2, 1, 0]
        assert [one.key for one in await claim(bench.inbox, 2, limit=10)] == [what.key for what in batch]

    async def test_tries_and_suspicion_survive_a_pause(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        suspect = await claim_suspect(bench.inbox, 2)
        tries = {HandlerName("create_order"): Tries(2, 9.5)}
        paused = settlement(suspect, Signal.PAUSE, reason=PAUSED, tries=tries)
        assert list(await bench.inbox.settle([paused])) == [True]
        await bench.inbox.resume(limit=10)
        again = await claim_suspect(bench.inbox, 3)
        assert (again.suspect, dict(again.tries)) == (True, tries)


async def _paused(bench: Bench, key: str, reason: str) -> Claim:
    held = await event_in(bench.inbox, State.CLAIMED, delivery(key))
    assert list(await bench.inbox.settle([settlement(held, Signal.PAUSE, reason=reason)])) == [True]
    return held

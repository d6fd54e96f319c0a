"""Workbench: settle, beyond the grid."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import RECEIPT_SIGNALS, TOKEN_SIGNALS, TRANSITIONS, Signal, State, after
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.outcome import NO_WRITES, Attempt, Tries
from landfast.domain.switch import SwitchKind
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, claim_suspect, look, state_of
from landfast.testing.factory import DELAY, LEASE, deliveries, delivery, event_in, failure, settlement, token

TRIES = {
    HandlerName("create_order"): Tries(2, 3.25),
    HandlerName("tell_crm"): Tries(1, 0.5, away=datetime(2026, 11, 17, 12, tzinfo=UTC)),
}


class SettleConformance:
    async def test_a_zombie_settles_no_failure_for_its_successor(self, bench: Bench) -> None:
        zombie = await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        await claim_suspect(bench.inbox, 2)
        for signal in sorted(TOKEN_SIGNALS):
            assert list(await bench.inbox.settle([settlement(zombie, signal)])) == [False]
        record = await look(bench.inbox, zombie.event_id)
        assert (record.summary.state, record.history) == (State.CLAIMED, ())

    async def test_a_zombie_with_a_receipt_finishes_for_its_successor(self, bench: Bench) -> None:
        zombie = await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        successor = await claim_suspect(bench.inbox, 2)
        assert list(await bench.inbox.settle([settlement(zombie, Signal.FINISH)])) == [True]
        assert list(await bench.inbox.settle([settlement(successor, Signal.FINISH)])) == [False]
        assert await state_of(bench.inbox, zombie.event_id) is State.DONE

    async def test_a_lease_that_expired_unnoticed_may_still_be_settled(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        assert list(await bench.inbox.settle([settlement(held, Signal.RETRY, due_in=DELAY)])) == [True]

    async def test_the_newest_lines_of_history_come_first_and_without_texts(self, bench: Bench) -> None:
        """What the doctor reads, however long the history is."""
        assert list(await bench.inbox.lately(limit=10)) == []
        failed = await event_in(bench.inbox, State.CLAIMED)
        told = Attempt("create_order", 1, "retry", 2.5, "KeyError", "what it brought", "a trace")
        await bench.inbox.settle([replace(settlement(failed, Signal.RETRY, due_in=DELAY), attempts=(told,))])
        await bench.inbox.record([delivery("other")])
        done = await claim_one(bench.inbox, 2)
        unwritten = Attempt("create_order", 1, NO_WRITES, 1.5)
        await bench.inbox.settle(
            [replace(settlement(done, Signal.FINISH), attempts=(unwritten,), reason=NO_WRITES, handlers=())]
        )
        newest, older = await bench.inbox.lately(limit=10)
        assert (newest.signal, newest.reason, newest.attempts) == (Signal.FINISH, NO_WRITES, (unwritten,))
        assert older.attempts == (replace(told, message="", trace=""),)
        assert [line.signal for line in await bench.inbox.lately(limit=1)] == [Signal.FINISH]
        assert (await look(bench.inbox, done.event_id)).history[-1].reason == NO_WRITES

    async def test_answers_come_in_the_order_of_the_settlements(self, bench: Bench) -> None:
        signals = [*sorted(TOKEN_SIGNALS), *sorted(RECEIPT_SIGNALS)]
        await bench.inbox.record(deliveries(len(signals)))
        held = await claim(bench.inbox, 1, limit=len(signals))
        settlements = [settlement(one, signal, due_in=DELAY) for one, signal in zip(held, signals, strict=True)]
        stale = [replace(one, run=9) for one in settlements]
        mixed = [one for pair in zip(stale, settlements, strict=True) for one in pair]
        assert list(await bench.inbox.settle(mixed)) == [False, True] * len(signals)
        assert list(await bench.inbox.settle(settlements)) == [False] * len(signals)

    async def test_an_event_that_is_not_there_and_an_empty_batch_settle_nothing(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        stranger = replace(settlement(held, Signal.FINISH), event_id=delivery("other").event_id)
        assert list(await bench.inbox.settle([stranger])) == [False]
        assert list(await bench.inbox.settle([])) == []

    @pytest.mark.parametrize("signal", sorted(RECEIPT_SIGNALS))
    async def test_of_two_that_settle_the_same_event_one_takes_effect(self, bench: Bench, signal: Signal) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        inboxes = [bench.inbox, await bench.another()]
        answers = await asyncio.gather(*(inboxes[n % 2].settle([settlement(held, signal)]) for n in range(6)))
        assert sum(answer[0] for answer in answers) == 1
        assert len((await look(bench.inbox, held.event_id)).history) == 1

    @pytest.mark.parametrize("signal", sorted(RECEIPT_SIGNALS | TOKEN_SIGNALS))
    async def test_a_stale_settle_of_an_older_run_does_not_touch_a_replay(self, bench: Bench, signal: Signal) -> None:
        stale = await event_in(bench.inbox, State.DEAD)
        await bench.inbox.replay([stale.event_id], forced=False, who="ada")
        replayed = await claim_one(bench.inbox, 2)
        before = await look(bench.inbox, stale.event_id)
        assert list(await bench.inbox.settle([settlement(stale, signal)])) == [False]
        assert await look(bench.inbox, stale.event_id) == before
        assert list(await bench.inbox.settle([settlement(replayed, Signal.FINISH)])) == [True]
        assert list(await bench.inbox.settle([settlement(stale, signal)])) == [False]
        summary = (await look(bench.inbox, stale.event_id)).summary
        assert (summary.state, summary.run) == (State.DONE, 2)

    async def test_a_settlement_adds_one_line_of_history_with_its_attempts(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        attempts = (
            Attempt("create_order", 1, "done", 3.5),
            Attempt("tell_crm", 1, "retry", 12.25, "TimeoutError", "crm: \x00 \ud800 took too long", "Traceback ..."),
        )
        odd = settlement(held, Signal.RETRY, due_in=DELAY, attempts=attempts, reason="transient", message="\x00 \ud800")
        assert list(await bench.inbox.settle([odd])) == [True]
        (line,) = (await look(bench.inbox, held.event_id)).history
        assert (line.signal, line.state, line.run) == (Signal.RETRY, State.DELAYED, 1)
        assert (line.reason, line.who) == ("transient", "")
        assert line.attempts[0] == attempts[0]
        assert (line.attempts[1].error, line.attempts[1].milliseconds) == ("TimeoutError", 12.25)
        assert "took too long" in line.attempts[1].message

    async def test_history_is_kept_oldest_first_over_several_runs(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DELAYED)
        await bench.advance(DELAY + 1)
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 2), Signal.BURY)])
        await bench.advance(5)
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        await bench.advance(5)
        await bench.inbox.settle([settlement(await claim_one(bench.inbox, 3), Signal.FINISH)])
        lines = (await look(bench.inbox, held.event_id)).history
        assert [(line.run, line.signal) for line in lines] == [
            (1, Signal.RETRY),
            (1, Signal.BURY),
            (2, Signal.REPLAY),
            (2, Signal.FINISH),
        ]
        assert [line.at for line in lines] == sorted(line.at for line in lines)
        assert (lines[-1].at - lines[-2].at).total_seconds() >= 5

    async def test_tries_arrive_in_the_next_claim_and_survive_what_counts_none(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        await bench.inbox.settle([settlement(held, Signal.RETRY, due_in=DELAY, tries=TRIES)])
        await bench.advance(DELAY + 1)
        held = await claim_one(bench.inbox, 2)
        assert dict(held.tries) == TRIES
        await bench.inbox.settle([settlement(held, Signal.RELEASE)])
        held = await claim_one(bench.inbox, 3)
        assert dict(held.tries) == TRIES
        await bench.inbox.settle([settlement(held, Signal.POSTPONE, due_in=DELAY)])
        await bench.advance(DELAY + 1)
        assert dict((await claim_one(bench.inbox, 4)).tries) == TRIES

    @pytest.mark.parametrize("state", [State.DELAYED, State.DEAD])
    async def test_what_went_wrong_is_in_the_summary(self, bench: Bench, state: State) -> None:
        held = await event_in(bench.inbox, state)
        summary = (await look(bench.inbox, held.event_id)).summary
        told = {name: getattr(summary, name) for name in ("handler", "reason", "error", "message")}
        assert told == {name: failure()[name] for name in told}
        assert (summary.due_at is not None) == (state is State.DELAYED)

    async def test_a_delayed_event_is_due_after_what_the_settlement_says(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.DELAYED)
        record = await look(bench.inbox, held.event_id)
        assert record.summary.due_at is not None
        assert abs((record.summary.due_at - record.history[-1].at).total_seconds() - DELAY) < 1

    @pytest.mark.parametrize("due_in", [LONGEST_DELAY + 1, 1e300, float("inf")])
    async def test_no_delay_and_no_switch_outlasts_the_longest(self, bench: Bench, due_in: float) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        assert list(await bench.inbox.settle([settlement(held, Signal.RETRY, due_in=due_in)])) == [True]
        delayed = await look(bench.inbox, held.event_id)
        assert delayed.summary.due_at == delayed.history[-1].at + timedelta(seconds=LONGEST_DELAY)
        await bench.inbox.throw(SwitchKind.SOURCE, "shop", why="a fix", who="ada", lasting=due_in)
        (switch,) = await bench.inbox.switches()
        assert switch.until == switch.at + timedelta(seconds=LONGEST_DELAY)

    @pytest.mark.parametrize("state", [state for state in State if after(state, Signal.BURY)])
    @pytest.mark.parametrize("tries", [{}, {HandlerName("create_order"): Tries(3, 7.5)}], ids=["untold", "told"])
    async def test_burying_writes_the_same_wherever_the_event_was(
        self, bench: Bench, state: State, tries: dict[HandlerName, Tries]
    ) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        earlier = {HandlerName("create_order"): Tries(1, 2.5)}
        if state is not State.CLAIMED:
            signals = {state: signal for (_, signal), state in TRANSITIONS.items() if signal in TOKEN_SIGNALS}
            signal = signals.get(state, Signal.RETRY)  # to be held it has to wait first
            await bench.inbox.settle([settlement(held, signal, due_in=DELAY, tries=earlier)])
            await bench.inbox.hold([held.event_id] if state is State.HELD else [], who="ada", why="ask the shop")
        assert list(await bench.inbox.settle([settlement(held, Signal.BURY, tries=tries, **failure())])) == [True]
        record = await look(bench.inbox, held.event_id)
        dead = record.summary
        assert (dead.state, dead.due_at) == (State.DEAD, None)
        told = (dead.handler, dead.reason, dead.error, dead.message)
        assert told == ("create_order", "permanent", "IntegrityError", "duplicate order")
        assert dict(record.tries) == (tries or ({} if state is State.CLAIMED else earlier))

    async def test_an_unhandled_event_waits_for_ever(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.UNHANDLED)
        await bench.advance(10_000_000)
        assert not await claim(bench.inbox, 2)
        assert await bench.inbox.claim_suspect(token=token(3), lease=LEASE) is None

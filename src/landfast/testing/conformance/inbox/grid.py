"""The whole grid: every signal sent to an event in every state, checked against the one table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from landfast.domain.lifecycle import RECEIPT_SIGNALS, TOKEN_SIGNALS, TRANSITIONS, Signal, State, after
from landfast.domain.outcome import Claim
from landfast.testing.conformance.inbox.bench import Bench, claim, look
from landfast.testing.factory import DELAY, LEASE, event_in, settlement, token

SETTLED = TOKEN_SIGNALS | RECEIPT_SIGNALS
SENT = [each for each in TRANSITIONS if each[1] is not Signal.PROMOTE]
"""Nobody sends that one: it follows where a lane goes on, as `lanes` has it."""
GRID = [
    (state, signal)
    for state in State
    for signal in Signal
    if (state, signal) != (State.READY, Signal.WAKE)  # the claim that would wake it would claim it, too
    and (state, signal) != (State.DONE, Signal.ERASE)  # it is erased, and no transition
    and signal is not Signal.PROMOTE
]


class GridConformance:
    @pytest.mark.parametrize(("state", "signal"), GRID, ids=[f"{state} {signal}" for state, signal in GRID])
    async def test_every_signal_does_what_the_table_says_in_every_state(
        self, bench: Bench, state: State, signal: Signal
    ) -> None:
        held = await event_in(bench.inbox, state)
        before = await look(bench.inbox, held.event_id)
        took_effect = await send(bench, held, state, signal)
        now = await look(bench.inbox, held.event_id)
        expected = after(state, signal)
        if expected is None:
            assert not took_effect
            assert now == before
            return
        assert took_effect
        # To wake is the first half of a claim, so what is seen afterwards is the second.
        assert now.summary.state is (after(expected, Signal.CLAIM) if signal is Signal.WAKE else expected)
        lines = now.history[len(before.history) :]
        if signal is not Signal.ERASE:  # which leaves no text in them
            assert now.history[: len(before.history)] == before.history
        if signal in {Signal.CLAIM, Signal.WAKE}:
            assert lines == ()
        else:
            assert [(line.signal, line.state, line.run) for line in lines] == [(signal, expected, now.summary.run)]
        assert now.summary.run == held.run + (signal is Signal.REPLAY)

    @pytest.mark.parametrize(
        ("state", "signal"), [each for each in GRID if each[1] in RECEIPT_SIGNALS and after(*each)]
    )
    async def test_what_follows_a_receipt_settles_under_any_token(
        self, bench: Bench, state: State, signal: Signal
    ) -> None:
        held = await event_in(bench.inbox, state)
        stranger = replace(settlement(held, signal), token=token(99))
        assert list(await bench.inbox.settle([stranger])) == [True]
        assert (await look(bench.inbox, held.event_id)).summary.state is after(state, signal)

    @pytest.mark.parametrize("signal", sorted(TOKEN_SIGNALS))
    async def test_a_failure_under_another_token_changes_nothing(self, bench: Bench, signal: Signal) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        before = await look(bench.inbox, held.event_id)
        stranger = replace(settlement(held, signal), token=token(99))
        assert list(await bench.inbox.settle([stranger])) == [False]
        assert await look(bench.inbox, held.event_id) == before

    @pytest.mark.parametrize("signal", sorted(SETTLED))
    @pytest.mark.parametrize("run", [0, 2])
    async def test_a_settlement_of_another_run_changes_nothing(self, bench: Bench, signal: Signal, run: int) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        before = await look(bench.inbox, held.event_id)
        stale = replace(settlement(held, signal), run=run)
        assert list(await bench.inbox.settle([stale])) == [False]
        assert await look(bench.inbox, held.event_id) == before


async def send(bench: Bench, held: Claim, state: State, signal: Signal) -> bool:
    inbox = bench.inbox
    if signal in SETTLED:
        return bool((await inbox.settle([settlement(held, signal, due_in=DELAY)]))[0])
    events = [held.event_id]
    if signal is Signal.REPLAY:
        return await inbox.replay(events, forced=False, who="ada") == 1
    if signal is Signal.ERASE:
        return list(await inbox.erase(events, who="ada")) == events
    if signal is Signal.CLOSE:
        return await inbox.close_dead(events, who="ada", why="sent by mistake") == 1
    if signal is Signal.HOLD:
        return await inbox.hold(events, who="ada", why="ask the shop first") == 1
    if signal in {Signal.RECOVER, Signal.ADMIT, Signal.DISCARD, Signal.HASTEN, Signal.SKIP}:
        return bool(await getattr(inbox, signal)(events, who="ada") == 1)
    if signal in {Signal.REQUEUE, Signal.RESUME, Signal.STIR}:
        return await _send_by_worker(bench, held, signal)
    if signal is Signal.WAKE:
        await bench.advance(DELAY + 1)
        return bool(await claim(inbox, 2))
    assert signal is Signal.CLAIM, f"say here by which call of the port {signal} is sent"
    if state is State.CLAIMED:  # claimable again only when the lease has expired, and then alone
        await bench.advance(LEASE + 1)
        return await inbox.claim_suspect(token=token(2), lease=LEASE) is not None
    return bool(await claim(inbox, 2))


async def _send_by_worker(bench: Bench, held: Claim, signal: Signal) -> bool:
    """To whatever waits for it."""
    if signal is Signal.REQUEUE:
        return await bench.inbox.requeue(source=held.source, type=held.type, limit=10) == 1
    if signal is Signal.RESUME:
        return await bench.inbox.resume(limit=10) == 1
    return await bench.inbox.stir([(await look(bench.inbox, held.event_id)).summary.reason]) == 1

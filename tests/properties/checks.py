"""The invariants of ARCHITECTURE.md, read from the databases alone: they know nothing of what a test expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landfast.domain.effect import EffectState
from landfast.domain.filter import Filter
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import TRANSITIONS, Signal, State
from landfast.domain.outcome import Outcome, Receipt
from landfast.domain.summary import EventRecord, EventSummary
from landfast.recovery.proof import prove
from landfast.testing.clock import SeededChance
from tests.properties.expected import MATCHING, Expected
from tests.properties.floor import Floor

Written = Mapping[tuple[str, str, int], int]
MANY = 1000


async def summaries(floor: Floor) -> Sequence[EventSummary]:
    found: Sequence[EventSummary] = await floor.shop.inbox.find(Filter(), limit=MANY)
    return found


async def receipts(floor: Floor, keys: Sequence[str]) -> dict[tuple[str, str, int], Outcome]:
    names = {floor.digest(key): key for key in keys}
    found: Sequence[Receipt] = await floor.shop.ledger.receipts(list(names))
    there = {(names[each.key.digest], str(each.key.handler), each.key.run): each.outcome for each in found}
    assert len(there) == len(found), "I2: a receipt is there twice"
    return there


def check_writes(written: Written, there: Mapping[tuple[str, str, int], Outcome]) -> None:
    """I2, and the half of I4 that holds at any time: what is written has a `done` receipt, and the other way round."""
    assert all(times == 1 for times in written.values()), f"I2: written twice: {written}"
    assert set(written) == {place for place, outcome in there.items() if outcome is Outcome.DONE}, "I4"


async def check_census(floor: Floor, stored: int) -> None:
    """I10, as far as the inbox goes, and the intake that runs now."""
    census = await floor.shop.inbox.census()
    assert census.events == stored == sum(census.states.values()), f"I10: {census}"
    for total in floor.tally.totals().values():
        assert total.received == total.stored + total.duplicate + total.rejected, f"I10: {total}"


def check_mail(floor: Floor, written: Written) -> None:
    """I9: nothing is performed that was not committed, and each event's effect has one key in all of its runs."""
    for key, _, run in floor.sent:
        assert (key, "create_order", run) in written, f"I9: the mail of {key} in run {run} was never committed"
    names = {(key, effect) for key, effect, _ in floor.sent}
    assert len(names) == len({key for key, _ in names}), f"I9: an effect changed its key: {names}"


async def is_quiet(floor: Floor) -> bool:
    """Nothing waits for time to pass."""
    events, effects = (await floor.shop.inbox.census()).states, await floor.shop.ledger.counts()
    waits = [events.get(state, 0) for state in (State.READY, State.CLAIMED, State.DELAYED)]
    waits += [effects[state] for state in (EffectState.READY, EffectState.CLAIMED, EffectState.DELAYED)]
    return not any(waits)


async def check_the_end(floor: Floor, events: Mapping[str, Expected]) -> None:
    """Everybody is at rest: I1, I3, I4, I8, I9, I10, I11."""
    written, there = await floor.written(), await receipts(floor, list(events))
    check_writes(written, there)
    check_mail(floor, written)
    for key, event in events.items():
        record = await floor.shop.show(key)
        assert record.body == event.body, f"I1: {key}"
        _check_state(record.summary, event, there)
        _check_replays(key, event, written)
        _check_history(record)
    committed = {(key, run) for key, handler, run in written if handler == "create_order"}
    assert committed == {(key, run) for key, _, run in floor.sent}, "I9: committed, and never performed"
    counts = await floor.shop.ledger.counts()
    assert not [state for state in EffectState if counts[state] and state is not EffectState.DONE], f"I9: {counts}"
    proof = await prove(floor.shop.inbox, floor.shop.ledger, clock=floor.shop.clock, chance=SeededChance())
    assert proof.holds and not proof.lost and not proof.doubled, f"I10: {proof}"


def _check_state(now: EventSummary, event: Expected, there: Mapping[tuple[str, str, int], Outcome]) -> None:
    handlers = MATCHING[event.type]
    forced = now.run in event.forced
    runs = [now.run] if forced else range(1, now.run + 1)
    done = [any(there.get((event.key, name, run)) is Outcome.DONE for run in runs) for name in handlers]
    buried = [there.get((event.key, name, now.run)) is Outcome.DEAD for name in handlers]
    where = f"{event.key} is {now.state} in run {now.run}: {there}"
    match now.state:
        case State.DONE:
            assert handlers and all(done), f"I4: {where}"
        case State.DEAD:
            unseen = (event.malformed and now.reason == "malformed_body") or (event.late and now.reason == "discarded")
            assert any(buried) or unseen, f"I4: {where}"
            assert not handlers or not all(done), f"I4: a dead letter whose writes all happened: {where}"
        case State.HELD:
            assert event.late and not any(done), f"I3: {where}"
        case State.UNHANDLED:
            assert not handlers, f"I3: {where}"
        case _:
            raise AssertionError(f"I3: {where}")


def _check_replays(key: str, event: Expected, written: Written) -> None:
    for name in MATCHING[event.type]:
        runs = sorted(run for of, handler, run in written if (of, handler) == (key, name))
        repeated = [run for run in runs[1:] if run not in event.forced]
        assert not repeated, f"I8: {name} was repeated for {key} in runs {repeated} without force"


def _check_history(record: EventRecord) -> None:
    """I11: each line is a step of the table, and only a replay begins a run, the next one."""
    run = 1
    for line in record.history:
        targets = {state for (_, signal), state in TRANSITIONS.items() if signal is line.signal}
        assert line.state in targets, f"I11: {line}"
        run += line.signal is Signal.REPLAY
        assert line.run == run, f"I8: {line} in run {run}"
    assert record.summary.run == run
    assert record.summary.event_id == event_id("stripe", record.summary.key)

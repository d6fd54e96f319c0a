from __future__ import annotations

from dataclasses import replace

import pytest

from landfast.domain.census import Census, SourceTally, TallyReport
from landfast.domain.filter import Filter
from landfast.domain.ids import BootId, HandlerName, InboxId
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import EffectState, Outcome, Receipt
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.recovery.proof import Equation, Proof, Receipted, check_receipts, conclude, prove
from landfast.testing.factory import delivery, event_in
from tests.recovery.scenes import bury, key_of, receive, settle_all, store

BOOT = BootId(b"boot-001")


def census(
    *tallies: tuple[str, SourceTally],
    events: int = 0,
    states: dict[State, int] | None = None,
    running: int = 0,
    unclean: int = 0,
) -> Census:
    states = {State.DONE: events} if states is None else states
    return Census(InboxId(b"i" * 16), events, states, dict(tallies), running, unclean)


def equation(proof: Proof, name: str) -> Equation:
    return next(each for each in proof.equations if each.name == name)


@pytest.mark.req("R61")
async def test_the_equations_hold_over_real_stores(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    events = await store(inbox, 5)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, events)
    await store(inbox, 2, prefix="dead")
    await settle_all(inbox, Signal.BURY)
    await store(inbox, 1, prefix="ready")
    await event_in(inbox, State.HELD, delivery("late"))
    tallies = {"shop": SourceTally(received=21, stored=9, duplicate=9, rejected=3)}
    await inbox.tally(TallyReport(BOOT, tallies, {}, ended=True))

    proof = await prove(inbox, ledger, ledger)

    assert proof.holds
    assert (proof.lost, proof.doubled, proof.unproven) == (0, 0, ())
    assert [str(each) for each in proof.equations] == [
        "received 21 = stored 9 + duplicate 9 + rejected 3",
        "in the inbox 9 = tallied as stored 9",
        "in the inbox 9 = ready 1 + claimed 0 + delayed 0 + unhandled 0 + held 1 + paused 0 + done 5 + dead 2",
        "done 5 = with every receipt 5",
    ]
    assert sum(proof.effects.values()) == 0


@pytest.mark.req("R61")
async def test_a_done_event_without_a_receipt_is_lost_and_named(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    events = await store(inbox, 3)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, events[1:])
    await inbox.tally(TallyReport(BOOT, {"shop": SourceTally(3, 3)}, {}, ended=True))
    proof = await prove(inbox, ledger, ledger)
    assert not proof.holds
    assert proof.lost == 1
    assert proof.unproven == ("shop/evt_0000",)
    assert equation(proof, "done has its receipts").note == "without: shop/evt_0000"


async def test_a_done_event_with_only_a_tombstone_is_not_proven(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    (event,) = await store(inbox, 1)
    await settle_all(inbox, Signal.FINISH)
    await bury(inbox, ledger, event)
    assert (await prove(inbox, ledger, ledger)).unproven == ("shop/evt_0000",)


async def test_one_handlers_receipt_does_not_prove_what_anothers_tombstone_refutes(
    inbox: SqliteInbox, ledger: SqliteLedger
) -> None:
    (event,) = await store(inbox, 1)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, [event])
    other = (await key_of(inbox, event))._replace(handler=HandlerName("update_crm"))
    await ledger.bury([Receipt(other, Outcome.DEAD)])
    assert (await prove(inbox, ledger, ledger)).unproven == ("shop/evt_0000",)


async def test_a_tombstone_of_an_earlier_run_refutes_nothing(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    (event,) = await store(inbox, 1)
    await settle_all(inbox, Signal.BURY)
    await bury(inbox, ledger, event)
    await inbox.replay([event.event_id], forced=False, who="selma")
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, [event], run=2)
    proof = await prove(inbox, ledger, ledger)
    assert equation(proof, "done has its receipts").holds


@pytest.mark.req("R61")
async def test_a_receipt_that_is_there_twice_is_doubled(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    (event,) = await store(inbox, 1)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, [event])
    digest = (await key_of(inbox, event)).digest
    receipts = await ledger.receipts([digest])
    (summary,) = [found async for chunk in inbox.walk_done(Filter(), chunk=1) for found in chunk]
    found = check_receipts({digest: summary}, [*receipts, *receipts])
    assert found == Receipted(done=1, proven=1, doubled=1)
    assert not conclude(census(("shop", SourceTally(1, 1)), events=1), found).holds


def test_an_acknowledged_event_that_is_not_in_the_inbox_is_lost() -> None:
    for running, unclean in ((0, 0), (1, 0), (0, 1)):  # no unfinished count excuses it
        counted = census(("shop", SourceTally(5, 5)), events=4, running=running, unclean=unclean)
        proof = conclude(counted, Receipted())
        assert proof.lost == 1
        assert not equation(proof, "acknowledged is in the inbox").holds
        assert not proof.holds


@pytest.mark.parametrize("meter", ["spool_records", "journal_backlog"])
def test_what_waits_in_a_spool_or_journal_is_not_lost(meter: str) -> None:
    counted = replace(census(("shop", SourceTally(5, 5)), events=3, running=1), meters={meter: 2})
    proof = conclude(counted, Receipted())
    assert proof.holds and proof.lost == 0
    assert str(equation(proof, "acknowledged is in the inbox")) == (
        "tallied as stored 5 = in the inbox 3 + still in a spool or journal 2"
    )
    assert not conclude(replace(counted, meters={meter: 0}), Receipted()).holds


def test_counts_may_be_short_only_while_an_intake_runs_or_after_it_crashed() -> None:
    tally = ("shop", SourceTally(received=5, stored=3, duplicate=1))
    for running, unclean in ((1, 0), (0, 1)):
        proof = conclude(census(tally, events=4, running=running, unclean=unclean), Receipted())
        assert proof.holds
        received = equation(proof, "received")
        assert str(received) == "received 5 = stored 3 + duplicate 1 + rejected 0 + in flight 1"
        assert received.note.startswith(
            f"{running} running and {unclean} unclean boots of intake: up to a second of counts each"
        )
        assert str(equation(proof, "acknowledged is in the inbox")) == (
            "in the inbox 4 = tallied as stored 3 + not tallied 1"
        )
    proof = conclude(census(tally, events=4), Receipted())
    assert not equation(proof, "received").holds
    assert not equation(proof, "acknowledged is in the inbox").holds
    assert "nothing can be in flight" in equation(proof, "received").note


def test_more_answers_than_requests_never_hold() -> None:
    proof = conclude(census(("shop", SourceTally(received=1, stored=1, duplicate=1)), events=1, running=1), Receipted())
    assert not equation(proof, "received").holds


def test_an_event_in_no_state_or_in_two_breaks_the_proof() -> None:
    tally = ("shop", SourceTally(3, 3))
    for ready in (1, 3):
        states = {State.READY: ready, State.DONE: 1}
        assert not conclude(census(tally, events=3, states=states), Receipted(done=1, proven=1)).holds


def test_several_sources_have_an_equation_each() -> None:
    tallies = (("shop", SourceTally(2, 2)), ("crm", SourceTally(3, 1, 1)), ("", SourceTally(1, 0, 0, 1)))
    proof = conclude(census(*tallies, events=3), Receipted(), {EffectState.DEAD: 1})
    assert equation(proof, "received by shop").holds
    assert equation(proof, "received by no source").holds
    assert not equation(proof, "received by crm").holds
    assert proof.effects == {EffectState.DEAD: 1}

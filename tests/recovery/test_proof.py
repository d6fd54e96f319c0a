"""The equations: each holds when nothing is lost, whatever crashed, and fails when something is, whatever else runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from landfast.domain.census import BootCount, Census, SourceTally, StoredCount, TallyReport
from landfast.domain.effect import EffectState
from landfast.domain.ids import BootId, HandlerName, InboxId
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome, Receipt
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.recovery.audit import Audit
from landfast.recovery.proof import Equation, Proof, Recount, conclude
from landfast.testing.factory import delivery, event_in
from tests.inboxes.sqlite_bench import by_hand
from tests.patience import PATIENCE_SECONDS
from tests.recovery.scenes import bury, key_of, proven, receive, settle_all, store

CRM = HandlerName("update_crm")
BOTH = (HandlerName("create_order"), CRM)


def boot(number: int, told: SourceTally, *, stored: int | None = None, ended: bool = True, **more: object) -> BootCount:
    recorded = StoredCount(told.stored - told.elsewhere if stored is None else stored)
    one = BootCount(BootId(f"boot-{number:03}".encode()), recorded, {"shop": told}, is_ended=ended)
    return replace(one, **more)  # type: ignore[arg-type]


def census(*boots: BootCount, states: dict[State, int] | None = None, **more: object) -> Census:
    stored = sum((one.stored for one in boots), StoredCount())
    states = {State.DONE: stored.events} if states is None else states
    tallies = {"shop": sum((one.total for one in boots), SourceTally())}
    running = sum(one.is_running for one in boots)
    counted = Census(InboxId(b"i" * 16), stored.events, states, tallies, running, boots=boots, stored=stored)
    return replace(counted, **more)  # type: ignore[arg-type]


def concluded(counted: Census) -> Proof:
    return conclude(counted, Audit())


def equation(proof: Proof, name: str) -> Equation:
    return next(each for each in proof.equations if each.name == name)


async def told(inbox: SqliteInbox, tally: SourceTally, *, ended: bool = True) -> None:
    await inbox.tally(TallyReport(inbox.boot, {"shop": tally}, {}, ended=ended))


@pytest.mark.req("R61")
async def test_the_equations_hold_over_real_stores(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    events = await store(inbox, 5)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, events)
    await store(inbox, 2, prefix="dead")
    await settle_all(inbox, Signal.BURY)
    await store(inbox, 1, prefix="ready")
    await event_in(inbox, State.HELD, delivery("late"))
    await told(inbox, SourceTally(received=21, stored=9, duplicate=9, rejected=3))
    states = "ready 1 + claimed 0 + delayed 0 + unhandled 0 + held 1 + paused 0 + parked 0 + queued 0 + done 5 + dead 2"
    lines = [
        "received 21 = stored 9 + duplicate 9 + rejected 3",
        "in the inbox 9 = acknowledged 9",
        f"in the inbox 9 = {states}",
        "done 5 = with every receipt 5",
    ]

    proof = await proven(inbox, ledger)

    assert proof.holds
    assert (proof.lost, proof.doubled, proof.unproven) == (0, 0, ())
    assert [str(each) for each in proof.equations] == lines
    assert sum(proof.effects.values()) == 0
    full = await proven(inbox, ledger, full=True)
    assert full.holds
    assert [str(each) for each in full.equations] == [*lines, f"looked up 9 = {states}"]


class TestReceipts:
    @pytest.mark.req("R61")
    async def test_a_done_event_without_a_receipt_is_lost_and_named(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        events = await store(inbox, 3)
        await settle_all(inbox, Signal.FINISH)
        await receive(inbox, ledger, events[1:])
        await told(inbox, SourceTally(3, 3))
        proof = await proven(inbox, ledger)
        assert not proof.holds
        assert (proof.lost, proof.unproven) == (1, ("shop/evt_0000",))
        failing = equation(proof, "done has its receipts")
        assert (str(failing), failing.note) == ("done 3 = with every receipt 2", "without: shop/evt_0000")

    @pytest.mark.req("R61")
    async def test_one_of_two_handlers_that_lost_its_receipts_is_noticed(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        """A ledger that was restored to a moment between the two transactions of each event."""
        events = await store(inbox, 5)
        await settle_all(inbox, Signal.FINISH, handlers=BOTH)
        await receive(inbox, ledger, events)
        proof = await proven(inbox, ledger)
        assert (proof.holds, proof.lost) == (False, 5)
        await receive(inbox, ledger, events, handler=CRM)
        assert (await proven(inbox, ledger)).holds

    async def test_a_receipt_of_a_later_run_proves_nothing_and_one_of_an_earlier_run_does(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        (event,) = await store(inbox, 1)
        await settle_all(inbox, Signal.FINISH, handlers=BOTH)
        await receive(inbox, ledger, [event], run=2)
        await receive(inbox, ledger, [event], handler=CRM)
        assert (await proven(inbox, ledger)).lost == 1
        await inbox.replay([event.event_id], forced=False, who="selma")
        await settle_all(inbox, Signal.FINISH, handlers=BOTH)
        assert (await proven(inbox, ledger)).holds

    async def test_a_done_event_with_only_a_tombstone_is_not_proven(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        (event,) = await store(inbox, 1)
        await settle_all(inbox, Signal.FINISH)
        await bury(inbox, ledger, event)
        assert (await proven(inbox, ledger)).unproven == ("shop/evt_0000",)

    async def test_one_handlers_receipt_does_not_prove_what_anothers_tombstone_refutes(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        (event,) = await store(inbox, 1)
        await settle_all(inbox, Signal.FINISH)
        await receive(inbox, ledger, [event])
        await ledger.bury([Receipt((await key_of(inbox, event))._replace(handler=CRM), Outcome.DEAD)])
        assert (await proven(inbox, ledger)).unproven == ("shop/evt_0000",)

    async def test_a_tombstone_of_an_earlier_run_refutes_nothing(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        (event,) = await store(inbox, 1)
        await settle_all(inbox, Signal.BURY)
        await bury(inbox, ledger, event)
        await inbox.replay([event.event_id], forced=False, who="selma")
        await settle_all(inbox, Signal.FINISH)
        await receive(inbox, ledger, [event], run=2)
        assert equation(await proven(inbox, ledger), "done has its receipts").holds


@pytest.mark.req("R61")
async def test_a_forced_replay_is_not_proven_by_the_receipt_of_the_run_before(
    inbox: SqliteInbox, ledger: SqliteLedger, tmp_path: Path
) -> None:
    (event,) = await store(inbox, 1)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, [event])
    await inbox.replay([event.event_id], forced=False, who="selma")
    await settle_all(inbox, Signal.FINISH)
    assert (await proven(inbox, ledger)).holds, "a replay repeats nothing that is done"
    await inbox.replay([event.event_id], forced=True, who="selma")
    (claim,) = await settle_all(inbox, Signal.FINISH)
    assert (await proven(inbox, ledger)).lost == 1
    by_hand(tmp_path / "ledger.db", f"UPDATE landfast_receipt SET run = {claim.run}")
    assert (await proven(inbox, ledger)).holds


async def test_a_proof_waits_for_no_handler_that_writes(
    inbox: SqliteInbox, ledger: SqliteLedger, tmp_path: Path
) -> None:
    """Neither does opening the two that it asks, once they are bound."""
    identity = await inbox.identity()
    name = await ledger.bind(identity)
    assert await inbox.bind_ledger(name) == name
    writers = [apsw.Connection(str(tmp_path / file)) for file in ("inbox.db", "ledger.db")]
    for writer in writers:
        writer.execute("BEGIN IMMEDIATE")
    assert await asyncio.wait_for(ledger.bind(identity), PATIENCE_SECONDS) == name
    assert await asyncio.wait_for(inbox.bind_ledger("another"), PATIENCE_SECONDS) == name
    assert (await asyncio.wait_for(proven(inbox, ledger), PATIENCE_SECONDS)).holds
    for writer in writers:
        writer.close()


class TestStored:
    @pytest.mark.req("R61")
    async def test_an_event_that_vanished_is_lost_whatever_runs(self, inbox: SqliteInbox, ledger: SqliteLedger) -> None:
        await store(inbox, 3)
        await told(inbox, SourceTally(3, 3), ended=False)
        by_hand(inbox._file._path, "DELETE FROM work WHERE seq = 2")
        for full in (False, True):
            proof = await proven(inbox, ledger, full=full)
            assert (proof.holds, proof.lost) == (False, 1)
        assert equation(proof, "every event was looked up").right[-1] == ("nowhere", 1)

    async def test_an_identity_that_was_deleted_is_found_by_looking_everything_up(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        await store(inbox, 3)
        by_hand(inbox._file._path, "DELETE FROM identity WHERE seq = 2")
        assert not equation(await proven(inbox, ledger, full=True), "every event was looked up").holds

    def test_an_event_that_is_looked_up_and_nowhere_is_lost_whatever_the_counters_say(self) -> None:
        counted = census(boot(1, SourceTally(3, 3)), states={State.READY: 3})
        assert concluded(counted).lost == 0
        recount = Recount({State.READY: 2, None: 1}, counted)
        assert conclude(counted, Audit(), recount=recount).lost == 1

    def test_an_event_in_no_state_or_in_two_breaks_the_proof(self) -> None:
        for ready in (1, 3):
            counted = census(boot(1, SourceTally(3, 3)), states={State.READY: ready, State.DONE: 1})
            assert not concluded(counted).holds


class TestTold:
    """What senders were told, boot by boot."""

    @pytest.mark.parametrize("life", [{"ended": True}, {"ended": False}, {"ended": False, "is_running": True}])
    def test_more_told_than_stored_is_lost_and_nothing_excuses_it(self, life: dict[str, bool]) -> None:
        crashed = boot(2, SourceTally(9, 3), stored=7, ended=False)
        proof = concluded(census(boot(1, SourceTally(5, 5), stored=4, **life), crashed))
        assert proof.lost == 1
        failing = equation(proof, "acknowledged is in the inbox")
        assert (failing.holds, str(failing)) == (False, "acknowledged 8 = in the inbox 7 + lost 1")
        assert failing.note.startswith(f"boot {BootId(b'boot-001').hex()}")

    @pytest.mark.req("R61")
    async def test_a_lost_answer_to_a_commit_is_shown_with_its_boot_and_is_no_alarm(
        self, inbox: SqliteInbox, ledger: SqliteLedger
    ) -> None:
        """503, stored all the same, and the sender's retry is a duplicate."""
        await store(inbox, 1)
        await told(inbox, SourceTally(received=2, duplicate=1, rejected=1))
        proof = await proven(inbox, ledger)
        assert proof.holds
        shown = equation(proof, "acknowledged is in the inbox")
        assert str(shown) == "in the inbox 1 = acknowledged 0 + nobody was told 1"
        assert shown.note.startswith(f"boot {inbox.boot.hex()} (ended): 1 stored without an answer")

    @pytest.mark.req("R61")
    def test_an_unclean_boot_excuses_its_own_requests_and_no_others(self) -> None:
        crashed = boot(1, SourceTally(5, 3), ended=False)
        proof = concluded(census(crashed, boot(2, SourceTally(1000, 1000))))
        assert proof.holds
        received = equation(proof, "received")
        assert str(received) == "received 1,005 = stored 1,003 + duplicate 0 + rejected 0 + in flight 2"
        assert received.note == f"boot {crashed.boot.hex()} (unclean): 2 in flight"
        short = concluded(census(crashed, boot(2, SourceTally(1000, 10))))
        assert not equation(short, "received").holds
        assert "990 not answered, though it stopped in order" in equation(short, "received").note

    def test_more_answers_than_requests_never_hold(self) -> None:
        for life in ({"ended": True}, {"ended": False, "is_running": True}):
            proof = concluded(census(boot(1, SourceTally(received=1, stored=1, duplicate=1), **life)))
            assert not equation(proof, "received").holds

    def test_a_boot_of_before_the_counting_owes_nothing(self) -> None:
        assert concluded(census(boot(1, SourceTally(5, 5), stored=0, owes=False))).holds

    def test_several_sources_have_an_equation_each(self) -> None:
        tallies = {"shop": SourceTally(2, 2), "crm": SourceTally(3, 1, 1), "": SourceTally(1, 0, 0, 1)}
        one = replace(boot(1, SourceTally(6, 3, 1, 1)), told=tallies)
        proof = conclude(census(one, tallies=tallies), Audit(), effects={EffectState.DEAD: 1})
        assert equation(proof, "received by shop").holds
        assert equation(proof, "received by no source").holds
        assert not equation(proof, "received by crm").holds
        assert proof.effects == {EffectState.DEAD: 1}

    def test_ten_boots_are_named_and_the_rest_counted(self) -> None:
        crashed = [boot(number, SourceTally(2, 1), ended=False) for number in range(13)]
        note = equation(concluded(census(*crashed)), "received").note.splitlines()
        assert (len(note), note[-1]) == (11, "and 3 more boots")

"""What waits in a spool or broker stands beside the equations: it excuses nothing that is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from landfast.domain.census import BootCount, Census, SourceTally, StoredCount, TallyReport
from landfast.domain.ids import BootId, InboxId
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.recovery.elsewhere import elsewhere
from landfast.recovery.proof import prove
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import deliveries
from tests.recovery.scenes import proven
from tests.recovery.test_proof import equation

INTAKE = BootId(b"intake-1")


def census(told: int, brought: int, *boots: BootCount, **meters: int) -> Census:
    tally = SourceTally(told, told, elsewhere=told, requests_elsewhere=told)
    stored = StoredCount(drained=brought, deliveries_drained=brought)
    return Census(InboxId(b"i" * 16), brought, {}, {"shop": tally}, meters=meters, boots=boots, stored=stored)


def missing(counted: Census) -> int:
    return elsewhere(counted.tallies, counted).missing


@pytest.mark.req("R61")
def test_what_waits_is_not_lost_and_hides_nothing_that_is() -> None:
    assert missing(census(5, 3, spooled=5, spool_records=2)) == 0
    assert missing(census(5, 3, spooled=5, spool_records=0)) == 2
    assert missing(census(1000, 10, spooled=1000, spool_records=1)) == 989
    assert missing(census(1000, 10, spooled=0, journal_backlog=1)) == 989


def test_a_request_that_waits_may_bring_many_events_and_one_that_does_not_wait_brings_none() -> None:
    batches = {"shop": SourceTally(60, 60, elsewhere=60, requests_elsewhere=10)}
    counted = replace(census(60, 30, spooled=10, spool_records=3), tallies=batches)
    assert missing(counted) == 0
    assert missing(replace(counted, meters={"spooled": 10, "spool_records": 0})) == 30
    one = {"spooled": 10, "spool_records": 1, "largest_request": 8}
    assert missing(replace(counted, meters=one)) == 22, "one that waits is no larger than the largest that ever came"


@pytest.mark.req("R61")
async def test_a_last_second_that_was_never_reported_hides_no_spooled_event(
    inbox: SqliteInbox, ledger: SqliteLedger
) -> None:
    """The boot was killed: it stored 4 that it told nobody of, as far as we know. Its spool's disk is gone."""
    await inbox.record(deliveries(4))
    told = {"shop": SourceTally(3, 3, elsewhere=3, requests_elsewhere=3)}
    await inbox.tally(TallyReport(inbox.boot, told, {}, ended=True, meters={"spooled": 3}))
    proof = await proven(inbox, ledger)
    assert (proof.holds, proof.lost) == (False, 3)
    assert ("nobody was told", 4) in equation(proof, "acknowledged is in the inbox").right


def test_what_a_broker_kept_of_a_spool_has_arrived() -> None:
    assert missing(census(5, 3, spooled=5, journal_backlog=0, spool_absorbed=2)) == 0


def test_a_spool_of_a_machine_that_is_off_is_out_of_sight_up_to_its_last_report() -> None:
    off = BootCount(INTAKE, waiting=4, is_ended=True)
    found = elsewhere((counted := census(9, 3, off, spooled=9)).tallies, counted)
    assert (found.out_of_sight, found.missing) == (4, 2)
    assert found.note == f"boot {INTAKE.hex()}: 4 in its spool by its last report"
    running = replace(off, is_running=True, is_ended=False)
    assert missing(census(9, 3, running, spooled=9)) == 6, "one that runs has said that it is empty"


def test_a_broker_without_a_drainer_is_out_of_sight() -> None:
    found = elsewhere((counted := census(9, 3, spooled=4)).tallies, counted)
    assert (found.out_of_sight, found.missing) == (5, 1)
    assert "no drainer runs" in found.note


@pytest.mark.req("R61")
async def test_a_boot_that_never_reached_the_inbox_owes_nothing(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    """It started and stopped during an outage, with a spool; another boot drained what it had acknowledged."""
    await inbox.record(deliveries(1))
    await inbox.record_drained(deliveries(20, prefix="spooled"))
    await inbox.tally(TallyReport(inbox.boot, {"shop": SourceTally(1, 1)}, {}, ended=True))
    proof = await proven(inbox, ledger)
    assert proof.holds
    assert str(equation(proof, "acknowledged is in the inbox")) == (
        "in the inbox 21 = acknowledged 1 + from a spool or broker 20"
    )
    assert str(equation(proof, "what waited elsewhere arrives")) == (
        "in a spool or broker 20 = brought into the inbox 20"
    )


async def test_a_batch_whose_answer_came_too_late_and_that_was_spooled_besides_is_not_lost(
    inbox: SqliteInbox, ledger: SqliteLedger
) -> None:
    await inbox.record(deliveries(4))
    await inbox.record_drained(deliveries(9))
    told = SourceTally(9, 9, elsewhere=9, requests_elsewhere=9)
    await inbox.tally(TallyReport(inbox.boot, {"shop": told}, {}, ended=True, meters={"spooled": 9}))
    proof = await proven(inbox, ledger)
    assert (proof.holds, proof.lost) == (True, 0)
    assert str(equation(proof, "acknowledged is in the inbox")) == (
        "in the inbox 9 = acknowledged 0 + from a spool or broker 9"
    )
    await inbox.tally(TallyReport(INTAKE, {"shop": told}, {}, ended=True, meters={"spooled": 9}))
    assert (await proven(inbox, ledger)).lost == 9, "another boot's surplus excuses nothing"


async def test_spooled_events_that_never_come_are_lost(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    told = SourceTally(5, 5, elsewhere=5, requests_elsewhere=5)
    await inbox.tally(TallyReport(INTAKE, {"shop": told}, {}, meters={"spooled": 5, "spool_records": 5}))
    await inbox.record_drained(deliveries(2))
    proof = await proven(inbox, ledger)
    assert proof.holds
    assert str(equation(proof, "what waited elsewhere arrives")) == (
        "in a spool or broker 5 = brought into the inbox 2 + waiting 3"
    )
    await inbox.tally(TallyReport(INTAKE, {"shop": told}, {}, ended=True, meters={"spooled": 5, "spool_records": 0}))
    assert ((proof := await proven(inbox, ledger)).holds, proof.lost) == (False, 3)


async def test_a_running_boot_is_heard_once_more_before_anything_is_called_lost(
    inbox: SqliteInbox, ledger: SqliteLedger, clock: ManualClock
) -> None:
    """An intake has published; the drainer's last report is older than that, and says that the broker is empty."""
    drainer = TallyReport(BootId(b"drainer1"), {}, {}, meters={"journal_backlog": 0})
    await inbox.tally(drainer)
    clock.advance(1)
    told = {"shop": SourceTally(3, 3, elsewhere=3, requests_elsewhere=3)}
    await inbox.tally(TallyReport(INTAKE, told, {}, ended=True))

    class Reporting(ManualClock):
        async def sleep(self, seconds: float) -> None:
            clock.advance(seconds)
            await inbox.tally(replace(drainer, meters={"journal_backlog": 3}))

    proof = await prove(inbox, ledger, clock=Reporting(), chance=SeededChance())
    assert proof.holds
    assert equation(proof, "what waited elsewhere arrives").right[-1] == ("waiting", 3)

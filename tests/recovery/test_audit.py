"""The mark: what was proven is not asked for again, until a database was restored."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.audit import Finished
from landfast.domain.delivery import Delivery
from landfast.domain.ids import EventId, ReceiptDigest
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.recovery import audit as audit_module
from landfast.recovery.receipts import ask_ledger, check
from landfast.testing.clock import ManualClock, SeededChance
from tests.inboxes.sqlite_bench import by_hand
from tests.recovery.scenes import HANDLER, key_of, proven, receive, settle_all, store


@pytest.fixture(autouse=True)
def short_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "LINES_AT_ONCE", 4)
    monkeypatch.setattr(audit_module, "LINES_PER_MARK", 8)
    monkeypatch.setattr(audit_module, "WORTH_A_MARK", 1)


async def finish(inbox: SqliteInbox, ledger: SqliteLedger, count: int, prefix: str) -> list[Delivery]:
    events = await store(inbox, count, prefix=prefix)
    await settle_all(inbox, Signal.FINISH)
    await receive(inbox, ledger, events)
    return events


@pytest.mark.req("R61")
async def test_what_was_proven_is_not_asked_for_again(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    await finish(inbox, ledger, 10, "old")
    assert (await proven(inbox, ledger)).audit.looked_at == 10
    again = await proven(inbox, ledger)
    assert (again.audit.looked_at, again.audit.began_at, again.holds) == (0, 10, True)
    await finish(inbox, ledger, 3, "new")
    assert (await proven(inbox, ledger)).audit.looked_at == 3
    assert (await proven(inbox, ledger, full=True)).audit.looked_at == 13


async def test_the_mark_never_passes_what_is_not_proven(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    await finish(inbox, ledger, 6, "old")
    (unproven,) = await store(inbox, 1, prefix="lost")
    await settle_all(inbox, Signal.FINISH)
    await finish(inbox, ledger, 20, "new")
    for _ in range(2):
        proof = await proven(inbox, ledger)
        assert (proof.lost, proof.unproven, proof.audit.began_at <= 6) == (1, ("shop/lost_0000",), True)
    await receive(inbox, ledger, [unproven])
    assert (await proven(inbox, ledger)).holds
    assert (await proven(inbox, ledger)).audit.looked_at == 0


@pytest.mark.req("R61")
@pytest.mark.parametrize("moment", ["before its mark", "between its two marks"])
async def test_a_plain_proof_does_not_set_the_mark_again_that_a_full_one_beside_it_took_back(
    inbox: SqliteInbox, ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    events = await finish(inbox, ledger, 4, "evt")
    assert (await proven(inbox, ledger)).audit.walked_to == 4
    await finish(inbox, ledger, 4, "new")
    digest = (await key_of(inbox, events[1])).digest
    ask, leave = ask_ledger, ledger.set_audit_mark

    async def full_proof() -> None:
        monkeypatch.setattr(audit_module, "ask_ledger", ask)
        monkeypatch.setattr(ledger, "set_audit_mark", leave)
        by_hand(tmp_path / "ledger.db", f"DELETE FROM landfast_receipt WHERE digest = x'{digest.hex()}'")
        assert (await proven(inbox, ledger, full=True)).lost == 1

    async def ask_and_then(*asked: Any) -> Any:
        found = await ask(*asked)
        await full_proof()
        return found

    async def leave_after(*asked: Any) -> None:
        await full_proof()
        await leave(*asked)

    if moment == "before its mark":
        monkeypatch.setattr(audit_module, "ask_ledger", ask_and_then)
    else:
        monkeypatch.setattr(ledger, "set_audit_mark", leave_after)
    assert not (await proven(inbox, ledger)).audit.lacking, "it had asked before the loss"
    assert (await proven(inbox, ledger)).lost == 1


@pytest.mark.req("R61")
@pytest.mark.parametrize("lost", [1, 13])
async def test_what_a_full_proof_finds_lost_the_plain_one_names_too(
    inbox: SqliteInbox, ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    monkeypatch.setattr(audit_module, "LINES_PER_MARK", 1_000)
    events = await finish(inbox, ledger, 20, "evt")
    assert (await proven(inbox, ledger)).holds
    assert (await proven(inbox, ledger)).audit.began_at == 20
    digest = (await key_of(inbox, events[lost])).digest
    by_hand(tmp_path / "ledger.db", f"DELETE FROM landfast_receipt WHERE digest = x'{digest.hex()}'")
    for full in (True, False, False):
        proof = await proven(inbox, ledger, full=full)
        assert (proof.lost, proof.unproven) == (1, (f"shop/evt_{lost:04}",)), f"full={full}"
    assert proof.audit.began_at == lost // 4 * 4, "what is before it need not be walked through again"
    await receive(inbox, ledger, [events[lost]])
    assert (await proven(inbox, ledger)).holds


def test_a_line_that_no_handler_made_is_refuted_by_no_tombstone() -> None:
    """It was dismissed: nothing is owed for it."""
    digest = ReceiptDigest(b"d" * 32)
    dismissed = Finished(1, EventId(b"e" * 16), "shop", "evt_1", 1, ())
    dead = Receipt(ReceiptKey(digest, HANDLER, 1), Outcome.DEAD)
    assert check({digest: dismissed}, [dead]).lacking == ()
    assert check({digest: replace(dismissed, handlers=(HANDLER,))}, [dead]).lacking != ()


async def test_a_walk_that_is_interrupted_goes_on_from_its_last_mark(
    inbox: SqliteInbox, ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await finish(inbox, ledger, 20, "evt")
    receipts, asked = ledger.receipts, []

    async def fails_later(digests: list[ReceiptDigest]) -> object:
        asked.append(len(digests))
        if len(asked) == 4:
            raise ConnectionError("cut")
        return await receipts(digests)

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "receipts", fails_later)
        with pytest.raises(ConnectionError):
            await proven(inbox, ledger)
    found = (await proven(inbox, ledger)).audit
    assert (found.began_at, found.looked_at) == (8, 12)


@pytest.mark.req("R61")
@pytest.mark.parametrize("restored", ["inbox", "ledger"])
async def test_a_restored_database_is_audited_from_the_newest_mark_that_both_know(
    tmp_path: Path, clock: ManualClock, restored: str
) -> None:
    inbox = SqliteInbox(tmp_path / "inbox.db", clock=clock, chance=SeededChance())
    ledger = SqliteLedger(tmp_path / "ledger.db", clock=clock, chance=SeededChance(1))
    store_ = inbox if restored == "inbox" else ledger
    for each in (inbox, ledger):
        await each.open()
        await each.migrate()
    await finish(inbox, ledger, 5, "before")
    assert (await proven(inbox, ledger)).holds
    _copy(tmp_path, restored, "copy")
    await finish(inbox, ledger, 5, "after")
    assert (await proven(inbox, ledger)).holds
    assert (await proven(inbox, ledger)).audit.began_at == 10

    await store_.close()
    _copy(tmp_path, "copy", restored)
    await store_.open()
    found = await proven(inbox, ledger)

    assert found.audit.began_at == 5
    assert found.lost == (5 if restored == "ledger" else 0)
    if restored == "inbox":  # other events than those that the ledger has proven
        await store(inbox, 5, prefix="other")
        await settle_all(inbox, Signal.FINISH)
        assert (await proven(inbox, ledger)).lost == 5
    for each in (inbox, ledger):
        await each.close()


def _copy(folder: Path, one: str, other: str) -> None:
    """As a backup would: what is in the log first goes into the file."""
    if one != "copy":
        by_hand(folder / f"{one}.db", "PRAGMA wal_checkpoint(TRUNCATE)")
    for stale in folder.glob(f"{other}.db-*"):
        if not stale.name.endswith("-lock"):
            stale.unlink()
    shutil.copy(folder / f"{one}.db", folder / f"{other}.db")


async def test_a_receipt_that_is_there_twice_is_doubled(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    (event,) = await finish(inbox, ledger, 1, "evt")
    key = await key_of(inbox, event)
    (finished,) = await inbox.finished(after=0, upto=10)
    receipt = Receipt(key, Outcome.DONE)
    assert check({key.digest: finished}, [receipt, receipt]).doubled == 1
    assert check({key.digest: finished}, [receipt, receipt]).lacking == ()

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.effect import EffectSettlement, EffectSignal, StagedEffect
from landfast.domain.errors import ConfigError
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.counting.repeats import PREFIX
from landfast.ledgers.sqlite import SqliteLedger
from landfast.recovery import doctor
from landfast.recovery.doctor import Check, Level, examine_binding, examine_inbox, examine_ledger, failed, is_well
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import delivery, event_in, settlement, token
from tests.patience import PATIENCE_SECONDS
from tests.recovery.scenes import HANDLER, key_of, settle_all, store


async def levels(inbox: SqliteInbox, clock: ManualClock) -> dict[str, Level]:
    return {check.name: check.level for check in await examine_inbox(inbox, now=clock.now())}


async def test_an_inbox_and_a_ledger_that_are_well(
    inbox: SqliteInbox, ledger: SqliteLedger, clock: ManualClock
) -> None:
    await inbox.bind_ledger(await ledger.bind(await inbox.identity()))
    checks = [
        *await examine_inbox(inbox, now=clock.now()),
        *await examine_ledger(ledger),
        await examine_binding(inbox, ledger),
    ]
    assert {check.level for check in checks} == {Level.OK}
    assert is_well(checks)


async def test_what_waits_for_somebody_is_a_warning_with_a_fix(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 2)
    await settle_all(inbox, Signal.BURY)
    await store(inbox, 1, prefix="new")
    await settle_all(inbox, Signal.NO_HANDLER)
    await event_in(inbox, State.HELD, delivery("late"))
    await store(inbox, 1, prefix="stuck")
    await inbox.claim(token=token(99), lease=5, limit=1)
    clock.advance(6)
    found = await levels(inbox, clock)
    names = ("dead events", "unhandled events", "held events", "suspects")
    assert [found[name] for name in names] == [Level.WARN] * 4
    checks = await examine_inbox(inbox, now=clock.now())
    assert all(check.fix for check in checks if check.level is not Level.OK)
    assert is_well(checks)


async def test_a_count_stops_where_it_stops_mattering(
    inbox: SqliteInbox, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "COUNT_AT_MOST", 2)
    await store(inbox, 3)
    await settle_all(inbox, Signal.BURY)
    assert "2 or more" in {check.found for check in await examine_inbox(inbox, now=clock.now())}


async def test_an_unclean_boot_is_a_warning(inbox: SqliteInbox, clock: ManualClock) -> None:
    await inbox.tally(TallyReport(BootId(b"boot-001"), {"shop": SourceTally(1, 1)}, {}))
    clock.advance(3600)
    assert (await levels(inbox, clock))["intake boots"] is Level.WARN


async def test_repeats_at_a_source_where_every_arrival_is_an_event_are_told(
    inbox: SqliteInbox, clock: ManualClock
) -> None:
    meters = {f"{PREFIX}files": 1_200}
    await inbox.tally(TallyReport(BootId(b"boot-001"), {"files": SourceTally(1, 1)}, {}, meters=meters))
    told = {check.name: check for check in await examine_inbox(inbox, now=clock.now())}["repeats at files"]
    assert told.level is Level.OK and told.found.startswith("1,200 came with bytes") and told.fix


async def test_what_waits_for_long_is_a_warning_with_its_reason(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 1, prefix="stuck")
    (claim,) = await inbox.claim(token=token(1), lease=5, limit=1)
    why = {
        "handler": "create_order",
        "reason": "schema",
        "error": "OperationalError",
        "message": "no such table: orders",
    }
    assert await inbox.settle([settlement(claim, Signal.POSTPONE, due_in=9999, **why)]) == [True]
    assert (await levels(inbox, clock))["delayed events"] is Level.OK
    clock.advance(doctor.LONG_DELAY_SECONDS + 1)
    checks = {check.name: check for check in await examine_inbox(inbox, now=clock.now())}
    assert checks["delayed events"].level is Level.WARN
    assert checks["delayed events"].found == (
        "1 for longer than 15 minutes, such as shop/stuck_0000"
        " (create_order, schema, OperationalError, no such table: orders)"
    )
    assert is_well([*checks.values()])


async def test_that_it_must_be_migrated_is_said_once(tmp_path: Path, clock: ManualClock) -> None:
    ledger = SqliteLedger(str(tmp_path / "empty.db"), clock=clock, chance=SeededChance(7))
    await ledger.open()
    (check,) = await examine_ledger(ledger)
    await ledger.close()
    assert (check.fix, "migrate" in check.found) == ("run landfast migrate", False)
    assert check.found.startswith("the table landfast_receipt is missing; ")


async def test_a_changed_schema_is_a_failure(ledger: SqliteLedger, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("ALTER TABLE landfast_receipt RENAME COLUMN outcome TO result_code")
    connection.close()
    assert (await examine_ledger(ledger))[0].level is Level.FAIL


async def test_a_dead_effect_is_a_warning(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    (event,) = await store(inbox, 1)
    key = await key_of(inbox, event)
    transaction = await ledger.begin(deadline=PATIENCE_SECONDS)
    await transaction.reserve([key])
    staged = StagedEffect("effect-key", 1, key.digest, HANDLER, "send_mail", b"{}")
    await transaction.commit(results=[], effects=[staged])
    (claimed,) = await ledger.claim(token=token(1), lease=30, limit=1)
    await ledger.settle([EffectSettlement("effect-key", 1, claimed.token, EffectSignal.BURY)])
    assert (await examine_ledger(ledger))[1].level is Level.WARN


async def test_an_inbox_without_a_ledger_yet_is_a_warning(inbox: SqliteInbox, ledger: SqliteLedger) -> None:
    assert (await examine_binding(inbox, ledger)).level is Level.WARN


async def test_an_inbox_that_is_bound_to_another_ledger_is_a_failure(
    inbox: SqliteInbox, ledger: SqliteLedger, tmp_path: Path, clock: ManualClock
) -> None:
    await inbox.bind_ledger(await ledger.bind(await inbox.identity()))
    other = SqliteLedger(str(tmp_path / "other.db"), clock=clock, chance=SeededChance(7))
    await other.open()
    await other.migrate()
    check = await examine_binding(inbox, other)
    await other.close()
    assert check.level is Level.FAIL
    assert not is_well([check])


def test_a_check_that_cannot_be_made_is_a_failure_in_the_errors_own_words() -> None:
    assert failed("store", ConfigError("no such file")) == Check("store", Level.FAIL, "no such file")

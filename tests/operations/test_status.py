"""What `status` and `doctor` make of rates that were told before: the same moments, minutes later or earlier."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

import pytest

from landfast.domain.alerts.alert import Alert, AlertName, Severity
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import Signal, State
from landfast.domain.rates import Meter, Rate
from landfast.inboxes.sqlite import SqliteInbox
from landfast.operations.doctor.disk import Growth, examine_disks
from landfast.operations.doctor.flow import examine_flow
from landfast.operations.status import Status, status
from landfast.recovery.doctor import Check, Level
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import delivery, settlement, token

pytestmark = pytest.mark.req("R45")

NOW = datetime(2026, 3, 2, 9, 37, 20, tzinfo=UTC)
DUTY = BootId(b"on duty!")


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[SqliteInbox]:
    made = SqliteInbox(tmp_path / "inbox.db", clock=ManualClock(NOW), chance=SeededChance(1))
    await made.open()
    await made.migrate()
    yield made
    await made.close()


async def told(inbox: SqliteInbox, *rows: tuple[int, Meter, int]) -> tuple[Status, dict[str, Check]]:
    """Rows of minutes ago, meter and count; what the doctor then says of it."""
    minute = NOW.replace(second=0)
    rates = [
        Rate(minute - timedelta(minutes=ago), meter, "stripe", "", handler, detail, count=count)
        for ago, meter, count in rows
        for handler in ["create_order" if meter in (Meter.DONE, Meter.FAILED) else ""]
        for detail in [{Meter.REJECTED: "no-secret-matches", Meter.FAILED: "KeyError"}.get(meter, "")]
    ]
    await inbox.add_rates(rates)
    now = await status(inbox, now=NOW, sources=["stripe"], handlers=["create_order"])
    return now, {check.name: check for check in examine_flow(now, sources=["stripe"])}


BUSY = [(ago, Meter.STORED, 100) for ago in range(2, 10)]


async def test_a_busy_source_that_takes_nothing_in_any_more_is_found_within_a_minute(inbox: SqliteInbox) -> None:
    now, checks = await told(inbox, *BUSY, (1, Meter.REJECTED, 100), (0, Meter.REJECTED, 30))
    assert now.sources[0].has_only_refusals
    check = checks["requests to stripe"]
    assert check.level is Level.FAIL
    assert check.found.startswith("all 130 were refused since 09:36Z: no-secret-matches (130); the last that was taken")
    assert "copy the signing secret" in check.fix


@pytest.mark.parametrize(
    "rows",
    [
        [*[(ago, Meter.STORED, 15) for ago in range(1, 10)], (0, Meter.REJECTED, 30)],  # five would be usual by now
        [*BUSY, (1, Meter.STORED, 1), (1, Meter.REJECTED, 100), (0, Meter.STORED, 1)],  # some are still taken in
        [(5, Meter.STORED, 2), (1, Meter.REJECTED, 5)],  # a sender that comes now and then, and a stranger
        [*BUSY, (1, Meter.REJECTED, 2)],
    ],
)
async def test_and_nothing_is_said_too_soon(inbox: SqliteInbox, rows: list[tuple[int, Meter, int]]) -> None:
    now, checks = await told(inbox, *rows)
    assert not now.sources[0].has_only_refusals
    assert checks["requests to stripe"].level is not Level.FAIL


async def test_a_handler_that_was_mended_is_no_outage_any_more(inbox: SqliteInbox) -> None:
    failing = [(ago, Meter.FAILED, 40) for ago in range(3, 8)]
    _, checks = await told(inbox, *failing)
    assert checks["handler create_order"].level is Level.FAIL
    _, checks = await told(inbox, (1, Meter.DONE, 7))
    assert checks["handler create_order"].level is Level.WARN
    assert checks["handler create_order"].found.endswith("KeyError (200); the last 7 were done")
    _, checks = await told(inbox, (0, Meter.FAILED, 1))
    assert checks["handler create_order"].level is Level.FAIL


async def test_parked_events_are_named_and_are_worth_a_look_after_a_while(inbox: SqliteInbox) -> None:
    await inbox.record([delivery(key, received_at=NOW) for key in ("shipped", "refunded")])
    claims = await inbox.claim(token=token(1), lease=30, limit=2)
    parked = {"due_in": 60.0, "handler": "follow_order", "reason": "lifecycle:order", "message": "it is not paid yet"}
    await inbox.settle([settlement(claim, Signal.PARK, **parked) for claim in claims])
    now, checks = await told(inbox)
    assert (now.parked.handlers, now.parked.oldest, now.states[State.PARKED].number) == (("follow_order",), NOW, 2)
    assert checks["parked"].level is Level.OK, "the order of events settles by itself, mostly"
    later = replace(now, at=NOW + timedelta(minutes=16))
    (check,) = [check for check in examine_flow(later) if check.name == "parked"]
    assert check.level is Level.WARN
    assert check.found == (
        "2 events of follow_order wait for their entities to move, the oldest came at 2026-03-02 09:37:20Z"
    )
    assert "landfast events list state:parked" in check.fix


async def test_the_status_lists_what_is_firing(inbox: SqliteInbox) -> None:
    assert await inbox.lead("alerts", who=DUTY, lasting=60) is not None
    alert = Alert("1" * 32, AlertName.DISK_LOW, "vm", Severity.CRITICAL, "No room.", "Make some.", {}, NOW, NOW)
    assert await inbox.save_alerts([alert], [], task="alerts", who=DUTY)
    assert [one.label for one in (await told(inbox))[0].alerts] == ["disk-low/vm"]


GB = 10**9


@pytest.mark.parametrize(
    ("grows", "days"),
    [
        (Growth(used=2 * GB, spare=0, events=1_000_000, events_a_day=100_000), 50),
        (Growth(used=2 * GB, spare=2 * GB, events=1_000_000, events_a_day=100_000), 60),
        # Nine of ten have left: an event takes as much room as before.
        (Growth(used=2 * GB, spare=0, events=100_000, events_a_day=10_000), 50),
        # What leaves makes room for what comes: in the end 90 days of it, which fit, or 200, which do not.
        (Growth(used=2 * GB, spare=0, events=1_000_000, events_a_day=60_000, kept_days=90), inf),
        (Growth(used=2 * GB, spare=0, events=1_000_000, events_a_day=60_000, kept_days=200), 10 * GB / 120e6),
        # A pace that doubled, where the oldest leave already.
        (Growth(used=9 * GB, spare=0, events=9_000_000, events_a_day=300_000, kept_days=90, oldest_days=91), 50),
        (Growth(used=0, spare=0, events=0, events_a_day=0), inf),
    ],
)
def test_how_long_a_disk_lasts_while_retention_runs(grows: Growth, days: float) -> None:
    assert grows.days(10 * GB) == pytest.approx(days)


@pytest.mark.parametrize(
    ("events_a_day", "level", "lasts"),
    [
        (10_000_000, Level.FAIL, "enough for 12.0 hours"),
        (1_000_000, Level.WARN, "enough for 5.0 days"),
        (1_000, Level.OK, "enough for years"),
    ],
)
def test_a_disk_that_is_full_before_tomorrow_is_a_failure(events_a_day: int, level: Level, lasts: str) -> None:
    disk = {"what": "store", "path": "/data", "free": 10 * GB, "total": 20 * GB}
    grows = Growth(used=2 * GB, spare=0, events=1_000_000, events_a_day=events_a_day)
    (check,) = examine_disks([disk], grows=grows)
    assert check.level is level and lasts in check.found

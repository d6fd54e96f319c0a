"""Whether there is room, for how long, and whether a write goes through at all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from landfast.domain.audit import Mark
from landfast.domain.errors import StoreError
from landfast.domain.ids import BootId, InboxId
from landfast.domain.lifecycle import State
from landfast.domain.rates import Heartbeat, Meter
from landfast.domain.retention import DAY_SECONDS, Retention
from landfast.ports.audit import Audited
from landfast.ports.clock import Chance
from landfast.ports.inbox import Inbox
from landfast.ports.rates import Rates
from landfast.recovery.doctor import Check, Level

WARN_SHARE, FAIL_SHARE = 0.20, 0.05
"""Of a disk that is free."""

DAYS_AHEAD = 30.0
"""A disk that is full within so many days, at the pace of the last day, is worth a look now."""

TRIAL_BYTES = 32 * 1024
"""Of a test write: more than a page that happens to be free, and less than anybody notices."""

TRIAL_BOOT = BootId(b"doctor--")
TRIAL_INBOX = InboxId(b"landfast-doctor-")
"""No inbox has this id: the row that the doctor writes to in a ledger that others may use, too."""

ROOM = "make room on the disk: landfast retention run --now --bodies 7d; Landfast goes on by itself once it can write"


async def try_inbox(inbox: Rates, chance: Chance, now: datetime) -> Check:
    """A row of its own, committed and taken away again."""
    doing = {"trial": chance.bytes(TRIAL_BYTES // 2).hex()}
    try:
        # Crash between the two: a heartbeat of nobody, which nobody counts, and which goes after a day.
        await inbox.beat(Heartbeat(TRIAL_BOOT, "doctor", "", 0, now, now, doing))
        await inbox.leave(TRIAL_BOOT)
    except StoreError as error:
        return Check("inbox write", Level.FAIL, f"a test write failed: {error}", _fix(error))
    return Check("inbox write", Level.OK, "a test write was committed")


async def try_ledger(ledger: Audited, chance: Chance) -> Check:
    """Over and over the same row, of an inbox that nobody has."""
    try:
        await ledger.set_audit_mark(TRIAL_INBOX, Mark(0, chance.bytes(8)))
    except StoreError as error:
        return Check("ledger write", Level.FAIL, f"a test write failed: {error}", _fix(error))
    return Check("ledger write", Level.OK, "a test write was committed")


def _fix(error: StoreError) -> str:
    if "read-only" in str(error) or "readonly" in str(error):
        return "let Landfast write: to the file, its folder and the disk it is on; on PostgreSQL, to the primary"
    return ROOM


@dataclass(frozen=True, slots=True)
class Growth:
    """Of an inbox that is a file: what it has, what comes in a day, and until when it keeps that."""

    used: int
    """Bytes that hold something."""
    spare: int
    """Bytes of the file that are free and will be used first."""
    events: int
    """That are in it now; those that have left take no room."""
    events_a_day: float
    kept_days: float = math.inf
    """After which an event leaves."""
    oldest_days: float = 0.0

    def days(self, free: int) -> float:
        """Until the disk is full, at the pace of the last day; infinite where what leaves makes room for what comes."""
        bytes_a_day = self.events_a_day * self.used / self.events if self.events else 0.0
        room = free + self.spare
        if not bytes_a_day or self.used + room >= bytes_a_day * self.kept_days:
            return math.inf
        # Once the oldest are as old as they may get, as many leave in a day as came in one.
        leaving = self.used / self.kept_days if self.oldest_days >= self.kept_days else 0.0
        return room / (bytes_a_day - leaving)


async def growth(inbox: Inbox, now: datetime, retention: Retention) -> Growth:
    day = await inbox.rates(now - timedelta(days=1), meters=[Meter.STORED])
    seconds = max(3600.0, (now - min((rate.minute for rate in day), default=now)).total_seconds())
    room, oldest = await inbox.room(), (await inbox.last_pass()).oldest
    return Growth(
        used=room.used - room.free_inside,
        spare=room.free_inside,
        events=(await inbox.census()).here,
        events_a_day=sum(rate.count for rate in day) * DAY_SECONDS / seconds,
        kept_days=max(ages.row(State.DONE) for ages in retention.sources.values() or [retention.default]) / DAY_SECONDS,
        oldest_days=(now - oldest).total_seconds() / DAY_SECONDS if oldest else 0.0,
    )


def examine_disks(disks: Collection[Mapping[str, Any]], *, grows: Growth | None = None) -> Sequence[Check]:
    """As this process and the heartbeats of others tell them. `grows`: how the store does, where it is a file."""
    return [_disk(disk, grows if disk["what"] == "store" else None) for disk in disks]


def _disk(disk: Mapping[str, Any], grows: Growth | None) -> Check:
    free, total = int(disk["free"]), max(1, int(disk["total"]))
    where = f" on {disk['host']}" if disk.get("host") else ""
    found = f"{disk['path']}{where} has {size(free)} of {size(total)} free ({free / total:.0%})"
    days = grows.days(free) if grows else math.inf
    if grows and grows.events_a_day:
        found += f", enough for {_ahead(days)} at the pace of the last day"
    level = Level.OK
    if free < WARN_SHARE * total or days < DAYS_AHEAD:
        level = Level.WARN
    if free < FAIL_SHARE * total or days < 1:
        level = Level.FAIL
    return Check(f"disk of the {disk['what']}", level, found, "" if level is Level.OK else ROOM)


def _ahead(days: float) -> str:
    if days < 1:
        return f"{days * 24:.1f} hours"
    return "years" if days > 730 else f"{days:,.1f} days"


def size(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"

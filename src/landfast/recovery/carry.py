"""Carry events out of an inbox into a file, and from a file into another inbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.delivery import Delivery
from landfast.domain.errors import StoreError, UserError
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId
from landfast.domain.summary import Cursor, EventRecord
from landfast.ports.clock import Clock
from landfast.ports.inbox import Archive, Inbox
from landfast.recovery.event_file import FiledEvent

FOUND_AT_ONCE = 500
RECORDED_AT_ONCE = 200
"""Events in one COMMIT."""


async def matching(archive: Archive, wanted: Filter) -> list[EventId]:
    """Oldest first, as they came: another inbox takes them in in this order."""
    found: list[EventId] = []
    after: Cursor | None = None
    while page := await archive.find(wanted, limit=FOUND_AT_ONCE, after=after):
        found += [event.event_id for event in page]
        after = Cursor(page[-1].received_at, page[-1].event_id)
    return found[::-1]


async def records(archive: Archive, events: Iterable[EventId]) -> AsyncIterator[EventRecord]:
    for event in events:
        record = await archive.show(event)
        if record is not None:  # its retention ended meanwhile
            yield record


@dataclass(slots=True)
class Imported:
    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    """By source: those that this inbox had already."""
    again: Counter[EventId] = field(default_factory=Counter)

    def report(self) -> dict[str, SourceTally]:
        """Each is a delivery that was received, and stored or a duplicate: so the proof counts it like any other."""
        return {
            source: SourceTally(self.new[source] + self.known[source], self.new[source], self.known[source])
            for source in sorted({*self.new, *self.known})
        }


async def bring_in(inbox: Inbox, events: Iterable[FiledEvent], *, clock: Clock) -> Imported:
    """Record each as a new arrival. Crash between two COMMITs: the rest is missing, and a second import brings it; what
    is there is a duplicate then. Crash before the tally: those events are stored, and the proof calls them untold."""
    imported = Imported()
    batch: list[Delivery] = []
    try:
        for event in events:
            batch.append(event.delivery(clock.now()))
            if len(batch) == RECORDED_AT_ONCE:
                await _record(inbox, batch, imported)
                batch = []
        await _record(inbox, batch, imported)
    except StoreError as error:
        done = sum(imported.new.values())
        raise UserError(f"{error}; {done:,} were imported before that: import the file again for the rest") from error
    finally:
        await _tally(inbox, imported)
    return imported


async def _record(inbox: Inbox, batch: list[Delivery], imported: Imported) -> None:
    if not batch:
        return
    for delivery, recorded in zip(batch, await inbox.record(batch), strict=True):
        if recorded.is_new:
            imported.new[delivery.source] += 1
        else:
            imported.known[delivery.source] += 1
            imported.again[delivery.event_id] += 1


async def _tally(inbox: Inbox, imported: Imported) -> None:
    report = imported.report()
    if report:
        await inbox.tally(TallyReport(inbox.boot, report, dict(imported.again), ended=True))

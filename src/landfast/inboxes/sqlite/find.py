"""The operators' listings: find, count, walk_done. Read in windows, so that no read transaction lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from landfast.domain import patterns
from landfast.domain.audit import Finished
from landfast.domain.filter import Filter
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import PLACES, Place, Signal, State
from landfast.domain.summary import Cursor, EventSummary
from landfast.inboxes.sqlite import boxes, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.sealing import Seal

WINDOW = 1_000
"""Events looked at in one read transaction: about 10 ms."""

_Place = tuple[int, bytes]
"""Where an event stands in a listing: received_at and event id."""

_FIRST: _Place = (-(2**63), b"")
_LAST: _Place = (2**63 - 1, b"")


class Finding:
    _file: SqliteFile
    _seal: Seal

    async def find(self, wanted: Filter, *, limit: int, after: Cursor | None = None) -> Sequence[EventSummary]:
        found: list[EventSummary] = []
        span: _Span | None = _span(wanted, after)
        while span is not None and len(found) < limit:
            matching, span = await self._look(wanted, span, _downwards)
            found += matching
        return found[:limit]

    async def count(self, wanted: Filter, *, at_most: int) -> int:
        counted = 0
        span: _Span | None = _span(wanted, None)
        while span is not None and counted < at_most:
            matching, span = await self._look(wanted, span, _downwards)
            counted += len(matching)
        return min(counted, at_most)

    async def walk_done(self, wanted: Filter, *, chunk: int) -> AsyncIterator[Sequence[Finished]]:
        wanted = replace(wanted, state=State.DONE)
        found: list[EventSummary] = []
        span: _Span | None = replace(_span(wanted, None), statement="walk_done")
        while span is not None:
            matching, span = await self._look(wanted, span, _upwards)
            found += matching
            while len(found) >= chunk or (found and span is None):
                yield await self._finished_of(found[:chunk])
                found = found[chunk:]

    @in_thread
    def _finished_of(self, events: Sequence[EventSummary]) -> list[Finished]:
        with self._file.reading() as connection:
            same = {"done": State.DONE, "replay": Signal.REPLAY}
            asked = [{"received_at": rows.micros(one.received_at), "event_id": one.event_id, **same} for one in events]
            return [rows.finished(row) for one in asked for row in ask(connection, "finished_of", one)]

    @in_thread
    def _look(
        self, wanted: Filter, span: _Span, rest: Callable[[_Span, _Place], _Span]
    ) -> tuple[list[EventSummary], _Span | None]:
        """What matches in the next window of the span, and the span that is left."""
        with self._file.reading() as connection:
            window = ask(connection, span.statement, _bounds(wanted, span))
            read = [
                rows.summary(row)
                for seq, _, event in window
                for row in ask(connection, "find_summaries", (seq,)) or ask(connection, "find_bodiless", (seq, event))
            ]
            matching = [summary for summary in read if _matches(wanted, summary)]
            matching = boxes.open_summaries(connection, self._seal, matching)
        if len(window) < WINDOW:
            return matching, None
        _, *place = window[-1]
        return matching, rest(span, (place[0], place[1]))


@dataclass(frozen=True, slots=True)
class _Span:
    statement: str
    low: _Place
    high: _Place


def _span(wanted: Filter, after: Cursor | None) -> _Span:
    low = _FIRST if wanted.since is None else (rows.micros(wanted.since), b"")
    high = _LAST if wanted.before is None else (rows.micros(wanted.before), b"")
    if after is not None:
        high = min(high, (rows.micros(after.received_at), bytes(after.event_id)))
    named = wanted.source is not None and wanted.key is not None
    return _Span("find_identity" if named else _candidates(wanted), low, high)


def _candidates(wanted: Filter) -> str:
    """Look where such events are: nobody walks through years of what is done to find three dead letters."""
    place = None if wanted.state is None else PLACES[wanted.state]
    return f"find_{place}" if place in {Place.WORK, Place.SHELF} else "find_any"


def _downwards(span: _Span, last: _Place) -> _Span:
    return replace(span, high=last)


def _upwards(span: _Span, last: _Place) -> _Span:
    return replace(span, low=last)


def _bounds(wanted: Filter, span: _Span) -> dict[str, Any]:
    return {
        "from_at": span.low[0],
        "from_id": span.low[1],
        "to_at": span.high[0],
        "to_id": span.high[1],
        "window": WINDOW,
        "state": wanted.state,
        "claimed": wanted.state is State.CLAIMED,
        "event_id": event_id(wanted.source or "", wanted.key or ""),
    }


def _matches(wanted: Filter, event: EventSummary) -> bool:
    return (
        wanted.source in {None, event.source}
        and wanted.state in {None, event.state}
        and wanted.entity in {None, event.entity}
        and wanted.key in {None, event.key}
        and (wanted.type is None or patterns.matches(wanted.type, event.type))
        and (wanted.error is None or (bool(event.error) and patterns.matches(wanted.error, event.error)))
    )

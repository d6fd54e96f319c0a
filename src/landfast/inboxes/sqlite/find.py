"""The operators' listings: find, count, walk_done. Read in windows, so that no read transaction lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from landfast.domain import patterns
from landfast.domain.audit import Finished
from landfast.domain.filter import Filter
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import LISTED, PLACES, Place, Signal, State
from landfast.domain.summary import Cursor, EventSummary
from landfast.inboxes.sqlite import boxes, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.sealing import Seal

WINDOW = 1_000
"""Events looked at in one read transaction: about 10 ms."""

COUNT_WINDOW = 10_000
"""Places counted in one read transaction, where nothing but them is read: about 5 ms."""

_Place = tuple[int, bytes]
"""Where an event stands in a listing: received_at and event id."""

_FIRST: _Place = (-(2**63), b"")
_LAST: _Place = (2**63 - 1, b"")


class Finding:
    _file: SqliteFile
    _seal: Seal

    async def find(
        self, wanted: Filter, *, limit: int, after: Cursor | None = None, oldest_first: bool = False
    ) -> Sequence[EventSummary]:
        found: list[EventSummary] = []
        span: _Span | None = _span(wanted, after, is_upwards=oldest_first)
        while span is not None and len(found) < limit:
            matching, span = await self._look(wanted, span, _upwards if oldest_first else _downwards)
            found += matching
        return found[:limit]

    async def count(self, wanted: Filter, *, at_most: int) -> int:
        counted = 0
        span: _Span | None = _span(wanted, None)
        is_whole = _is_whole(wanted)
        while span is not None and counted < at_most:
            if is_whole:
                number, span = await self._count_window(wanted, span)
            else:
                matching, span = await self._look(wanted, span, _downwards)
                number = len(matching)
            counted += number
        return min(counted, at_most)

    @in_thread
    def horizon(self, *, after: Cursor | None, events: int) -> datetime | None:
        to_at, to_id = _LAST if after is None else (rows.micros(after.received_at), bytes(after.event_id))
        with self._file.reading() as connection:
            found = ask(connection, "horizon", {"to_at": to_at, "to_id": to_id, "events": events})
        return next((rows.moment(received_at) for (received_at,) in found), None)

    @in_thread
    def _count_window(self, wanted: Filter, span: _Span) -> tuple[int, _Span | None]:
        """Without a look at any event: of 10,000 that wait, half a second less."""
        bounds = _bounds(wanted, span) | {"window": COUNT_WINDOW}
        with self._file.reading() as connection:
            if span.statement == "find_work":  # no index has these in order, and a number needs none
                ((number,),) = ask(connection, "count_work", bounds)
                return number, None
            window: list[Any] = connection.execute(_walked(span), bounds).fetchall()
        if len(window) < COUNT_WINDOW:
            return len(window), None
        _, *place = window[-1]
        return len(window), _downwards(span, (place[0], place[1]))

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
            window: list[Any] = connection.execute(_walked(span), _bounds(wanted, span)).fetchall()
            read = [
                rows.summary(row)
                for seq, _, event, *failure in window
                if _may_match(wanted, failure)
                for row in ask(connection, "find_summaries", (seq,)) or ask(connection, "find_bodiless", (seq, event))
            ]
            matching = [summary for summary in read if _matches(wanted, summary)]
            opened = boxes.open_summaries(connection, self._seal, matching)
            matching = [summary for summary in opened if wanted.says(summary.message)]
        if len(window) < WINDOW:
            return matching, None
        _, received_at, event, *_ = window[-1]
        return matching, rest(span, (received_at, event))


@dataclass(frozen=True, slots=True)
class _Span:
    statement: str
    low: _Place
    high: _Place
    is_upwards: bool = False
    """Oldest first."""
    states: tuple[State, ...] = ()
    """Of FAILED: where it looks."""


FAILED = "failed"
"""In place of a file's name: `find_shelf` of each state, merged in order, with what failed. Ten thousand dead letters
of which none matches take 45 ms in place of 360, because nothing else is read of them."""

FAILURE = ("error", "handler", "line", "reason")
"""What is matched before anything else is read."""


def _failed(states: Sequence[State]) -> str:
    of_one, _, order = SQL["find_shelf"].partition("ORDER BY")
    of_one = of_one.replace("event_id FROM", f"event_id, {', '.join(FAILURE)} FROM")
    arms = [of_one.replace(":state", f":state_{number}") for number in range(len(states))]
    return f"{' UNION ALL '.join(arms)} ORDER BY{order}"


def _walked(span: _Span) -> str:
    """The same statement, walked through the other way: then its lower bound is the row before."""
    statement = _failed(span.states) if span.statement == FAILED else SQL[span.statement]
    return statement.replace(" DESC", "").replace(">= (:from_at", "> (:from_at") if span.is_upwards else statement


def _span(wanted: Filter, after: Cursor | None, *, is_upwards: bool = False) -> _Span:
    low = _FIRST if wanted.since is None else (rows.micros(wanted.since), b"")
    high = _LAST if wanted.before is None else (rows.micros(wanted.before), b"")
    if after is not None and is_upwards:
        low = max(low, (rows.micros(after.received_at), bytes(after.event_id)))
    elif after is not None:
        high = min(high, (rows.micros(after.received_at), bytes(after.event_id)))
    named = wanted.source is not None and wanted.key is not None
    if not named and (states := _failing(wanted)):
        return _Span(FAILED, low, high, is_upwards, states)
    return _Span("find_identity" if named else _candidates(wanted), low, high, is_upwards)


def _candidates(wanted: Filter) -> str:
    """Look where such events are: nobody walks through years of what is done to find three dead letters."""
    place = None if wanted.state is None else PLACES[wanted.state]
    return f"find_{place}" if place in {Place.WORK, Place.SHELF} else "find_any"


def _failing(wanted: Filter) -> tuple[State, ...]:
    """Where events are that failed so; nothing where the filter does not say how. Only what is shelved has an error."""
    if wanted.state is None:
        return LISTED if wanted.has_failed else ()
    has_terms = any(getattr(wanted, name) is not None for name in FAILURE)
    return (wanted.state,) if has_terms and PLACES[wanted.state] is Place.SHELF else ()


def _is_whole(wanted: Filter) -> bool:
    """Whether all matches that stands where such events are, so that nothing has to be read of it."""
    state = wanted.state
    is_there = state is None or PLACES[state] in {Place.WORK, Place.SHELF}
    return is_there and replace(wanted, state=None, since=None, before=None) == Filter()


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
        **{f"state_{number}": state for number, state in enumerate(span.states)},
        "claimed": wanted.state is State.CLAIMED,
        "event_id": event_id(wanted.source or "", wanted.key or ""),
    }


def _may_match(wanted: Filter, failure: Sequence[str]) -> bool:
    """By what FAILED reads of an event; every other statement reads nothing of it yet."""
    return all(_is_like(getattr(wanted, name), told) for name, told in zip(FAILURE, failure, strict=bool(failure)))


def _matches(wanted: Filter, event: EventSummary) -> bool:
    return (
        wanted.source in {None, event.source}
        and wanted.state in {None, event.state}
        and wanted.entity in {None, event.entity}
        and wanted.key in {None, event.key}
        and (wanted.type is None or patterns.matches(wanted.type, event.type))
        and all(_is_like(getattr(wanted, name), getattr(event, name)) for name in FAILURE)
    )


def _is_like(pattern: str | None, told: str) -> bool:
    return pattern is None or (bool(told) and patterns.matches(pattern, told))

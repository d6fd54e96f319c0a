"""The moves of `domain.lifecycle`: one statement for each kind, and what it is told from the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import asyncpg

from landfast.domain.holding import LET_PASS, PASSED_BY
from landfast.domain.ids import EventId
from landfast.domain.lane import Lane
from landfast.domain.lifecycle import LEADS_TO, MOVES, NEXT_RUN, TIMED, Guard, Move, Place, Signal, Way
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.outcome import NextRun, Settlement
from landfast.inboxes.postgres import lanes, rows
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.statements import SQL

Groups = dict[Way, list[int]]
"""Places in a list of settlements, by the way that each goes."""

SAME_RUN = NextRun()
"""Of signals that start none."""

_BY_OPERATORS = frozenset({"work_to_shelf", "shelf_to_shelf", "shelf_to_history"})
"""Kinds of which an operator may be the one who decided: then the commit is no lazy one, and the line says who."""


def groups(settlements: Sequence[Settlement]) -> Groups:
    # Sorted, so that a zombie and its successor who settle the same events take the rows in one order.
    order = sorted(range(len(settlements)), key=lambda place: settlements[place].event_id)
    return _groups(settlements, order, 0)


async def settle(
    connection: Connection,
    settlements: Sequence[Settlement],
    grouped: Groups,
    *,
    is_lazy: bool = True,
    who: str = "",
    noted: Sequence[str] | None = None,
    promoted: Callable[[int], None] | None = None,
) -> list[bool]:
    """Which took effect. What is not where most are is looked for at its next place, which costs a statement more.
    Lanes that were held by what was moved go on, in the same transaction."""
    took_effect = [False] * len(settlements)
    moved: set[Lane] = set()
    nth = 0
    while grouped:
        for way, places in grouped.items():
            ones = [settlements[place] for place in places]
            reasons = [rows.text(one.reason) for one in ones]
            lines = reasons if noted is None else [noted[place] for place in places]
            told = [is_lazy, rows.text(who)] if way.kind in _BY_OPERATORS else []
            columns = _columns(way, ones, reasons, lines)
            guard = way.takes_any_token if way.start is Place.WORK else way.states
            for row in await connection.fetch(SQL[way.kind], guard, *told, *columns):
                place = places[row["place"] - 1]
                took_effect[place] = True
                if row["lane"] is not None and settlements[place].moves_its_lane:
                    moved.add((row["source"], row["lane"]))
        nth += 1
        left = [place for places in grouped.values() for place in places if not took_effect[place]]
        grouped = _groups(settlements, left, nth)
    if moved:
        first = await lanes.advance(connection, moved)
        if first is not None and promoted is not None:
            promoted(first)
    return took_effect


async def make_ready(
    connection: Connection,
    signal: Signal,
    events: Sequence[EventId],
    *,
    who: str,
    how: NextRun = SAME_RUN,
) -> int:
    """By an operator, who locked these events: from where each is; how many."""
    moved = 0
    for move in MOVES[signal]:
        if move.way.start is Place.SHELF:
            found = await connection.fetch(SQL["named_candidates"], events, move.way.states)
            moved += await from_shelf(connection, move, found, is_lazy=False, who=who, how=how)
        else:
            ends = signal, move.state, rows.text(who), rows.text(how.reason)
            next_run = signal in NEXT_RUN, how.forced, rows.tries_stored(how.tries)
            holds_again = signal not in NEXT_RUN
            asked = (*ends, *next_run, holds_again)
            moved += await connection.fetchval(SQL["history_to_work"], events, move.way.states, *asked)
    return moved


async def make_claimable(connection: Connection, event: EventId, held_for: str) -> bool:
    """An event that is unhandled, or held for this; whether it was."""
    for signal in (Signal.ADMIT, Signal.REQUEUE):
        (move,) = MOVES[signal]
        found = await connection.fetch(SQL["named_candidates"], [event], move.way.states)
        meant = [row for row in found if signal is not Signal.ADMIT or row["reason"] == held_for]
        if await from_shelf(connection, move, meant, is_lazy=True):
            return True
    return False


async def from_shelf(
    connection: Connection,
    move: Move,
    found: Sequence[asyncpg.Record],
    *,
    is_lazy: bool,
    who: str = "",
    how: NextRun = SAME_RUN,
) -> int:
    """Those that its candidates named and locked, in the same transaction; how many."""
    if not found:
        return 0
    places = [row["place"] for row in found]
    # In the line of history a replay says how, and the others what the event waited for.
    ends = move.signal, move.state, rows.text(who), rows.text(how.reason) if move.signal in NEXT_RUN else None
    next_run = move.signal in NEXT_RUN, how.forced, rows.tries_stored(how.tries)
    holding = list(LET_PASS), await _passed_before(connection, move, found)
    asked = (is_lazy, *ends, *next_run, *holding)
    moved: int = await connection.fetchval(SQL["shelf_to_work"], places, move.way.states, *asked)
    return moved


async def _passed_before(connection: Connection, move: Move, found: Sequence[asyncpg.Record]) -> Sequence[object]:
    """The places of those whose lane has passed them in an earlier run, and does not wait for them again."""
    if LET_PASS.isdisjoint(move.way.states):
        return ()
    replays = [row["place"] for row in found if row["run"] > 1]
    passed = await connection.fetch(SQL["passed_before"], replays, list(PASSED_BY)) if replays else ()
    return [row["place"] for row in passed]


def _groups(settlements: Sequence[Settlement], places: Sequence[int], nth: int) -> Groups:
    """By the nth way of each, where it has so many."""
    grouped: Groups = {}
    for place in places:
        moves = MOVES[settlements[place].signal]
        if nth < len(moves):
            grouped.setdefault(moves[nth].way, []).append(place)
    return grouped


def _columns(
    way: Way, ones: Sequence[Settlement], reasons: Sequence[str], lines: Sequence[str]
) -> list[Sequence[object]]:
    """What the statement unnests, in its order."""
    nothing = [None] * len(ones)
    is_named = way.guard is not Guard.STATE
    columns: list[Sequence[object]] = [
        [one.event_id for one in ones],
        [one.run for one in ones] if is_named else nothing,
    ]
    if way.start is Place.WORK:
        columns.append([one.token for one in ones] if is_named else nothing)
    columns += [
        [one.signal for one in ones],
        [LEADS_TO[one.signal] for one in ones],
        [rows.attempts_json(one.attempts) for one in ones],
        lines,
    ]
    if way.end is Place.HISTORY:
        return [*columns, [rows.handlers_text(one.handlers) for one in ones]]
    columns.append([rows.tries_json(one.tries) for one in ones])
    columns.append([one.lets_pass for one in ones])
    if way.end is Place.WORK:
        return columns
    told = [one.signal is not Signal.SKIP for one in ones]  # what a dead letter died of stays as it is
    return [
        *columns,
        [rows.text(one.handler) if tells else None for one, tells in zip(ones, told, strict=True)],
        [reason if tells else None for reason, tells in zip(reasons, told, strict=True)],
        [rows.text(one.error) if tells else None for one, tells in zip(ones, told, strict=True)],
        [rows.text(one.line) if tells else None for one, tells in zip(ones, told, strict=True)],
        [rows.text(one.message) if tells else None for one, tells in zip(ones, told, strict=True)],
        [min(one.due_in, LONGEST_DELAY) if LEADS_TO[one.signal] in TIMED else None for one in ones],
    ]

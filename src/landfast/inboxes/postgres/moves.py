"""The moves of `domain.lifecycle`: one statement for each kind, and what it is told from the table."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import LEADS_TO, MOVES, NEXT_RUN, TIMED, Guard, Move, Place, Signal, Way
from landfast.domain.outcome import LONGEST_DELAY, Settlement
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.statements import SQL

Groups = dict[Way, list[int]]
"""Places in a list of settlements, by the way that each goes."""


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
) -> list[bool]:
    """Which took effect. What is not where most are is looked for at its next place, which costs a statement more."""
    took_effect = [False] * len(settlements)
    nth = 0
    while grouped:
        for way, places in grouped.items():
            ones = [settlements[place] for place in places]
            reasons = [rows.text(one.reason) for one in ones]
            lines = reasons if noted is None else [noted[place] for place in places]
            told = [is_lazy, rows.text(who)] if way.end is Place.SHELF else []
            columns = _columns(way, ones, reasons, lines)
            guard = way.takes_any_token if way.start is Place.WORK else way.states
            for row in await connection.fetch(SQL[way.kind], guard, *told, *columns):
                took_effect[places[row["place"] - 1]] = True
        nth += 1
        left = [place for places in grouped.values() for place in places if not took_effect[place]]
        grouped = _groups(settlements, left, nth)
    return took_effect


async def make_ready(
    connection: Connection, signal: Signal, events: Sequence[EventId], *, who: str, forced: bool = False
) -> int:
    """By an operator, who locked these events: from where each is; how many."""
    moved = 0
    for move in MOVES[signal]:
        if move.way.start is Place.SHELF:
            found = await connection.fetch(SQL["named_candidates"], events, move.way.states)
            moved += await from_shelf(connection, move, found, is_lazy=False, who=who, forced=forced)
        else:
            ends = signal, move.state, rows.text(who), _reason(signal, forced=forced) or ""
            next_run = signal in NEXT_RUN, forced
            moved += await connection.fetchval(SQL["history_to_work"], events, move.way.states, *ends, *next_run)
    return moved


async def from_shelf(
    connection: Connection,
    move: Move,
    found: Sequence[asyncpg.Record],
    *,
    is_lazy: bool,
    who: str = "",
    forced: bool = False,
) -> int:
    """Those that its candidates named and locked, in the same transaction; how many."""
    if not found:
        return 0
    places = [row["place"] for row in found]
    ends = move.signal, move.state, rows.text(who), _reason(move.signal, forced=forced)
    next_run = move.signal in NEXT_RUN, forced
    moved: int = await connection.fetchval(SQL["shelf_to_work"], places, move.way.states, is_lazy, *ends, *next_run)
    return moved


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
    if way.end is Place.WORK:
        return columns
    return [
        *columns,
        [rows.text(one.handler) for one in ones],
        reasons,
        [rows.text(one.error) for one in ones],
        [rows.text(one.message) for one in ones],
        [min(one.due_in, LONGEST_DELAY) if LEADS_TO[one.signal] in TIMED else None for one in ones],
    ]


def _reason(signal: Signal, *, forced: bool) -> str | None:
    """In the line of history: a replay says whether it is forced, and the others what the event waited for."""
    return ("forced" if forced else "") if signal in NEXT_RUN else None

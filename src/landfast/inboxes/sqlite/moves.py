"""The moves of `domain.lifecycle`: one statement for each kind, and what it is told from the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import LEADS_TO, MOVES, NEXT_RUN, TIMED, Guard, Move, Place, Signal, Way
from landfast.domain.outcome import Settlement
from landfast.inboxes.sqlite import history, rows
from landfast.inboxes.sqlite.statements import ask

WORK, SHELF, HISTORY, STATE = Place.WORK, Place.SHELF, Place.HISTORY, Guard.STATE
"""Looked up once: to ask an enum for a member takes as long as to bind a value, and is done for each event."""

STATES = {move.way: json.dumps(move.way.states) for moves in MOVES.values() for move in moves}
"""As a statement takes them."""


def settle(
    connection: apsw.Connection, settlement: Settlement, now: int, *, who: str = "", noted: str | None = None
) -> bool:
    """Whether it took effect. What is not where most are is looked for at its next place."""
    for move in MOVES[settlement.signal]:
        way = move.way
        moved = ask(connection, way.kind, _values(settlement, way, now))
        if not moved:
            continue
        if way.start is WORK and way.end is SHELF:
            ask(connection, "leave_work", (settlement.event_id,))
        ((received_at, run),) = moved
        history.add(
            connection,
            settlement.event_id,
            received_at,
            at=now,
            run=run,
            signal=settlement.signal,
            attempts=settlement.attempts,
            reason=settlement.reason if noted is None else noted,
            who=who,
            handlers=settlement.handlers if way.end is HISTORY else None,
        )
        return True
    return False


def make_ready(
    connection: apsw.Connection, signal: Signal, event: EventId, *, at: int, who: str, forced: bool = False
) -> bool:
    """By an operator: from where it is; whether it was there."""
    return any(_ready_from(connection, move, event, at, who, forced=forced) for move in MOVES[signal])


def from_shelf(
    connection: apsw.Connection,
    move: Move,
    found: Iterable[tuple[int, EventId, str, str]],
    *,
    at: int,
    who: str = "",
    forced: bool = False,
) -> int:
    """Those that its candidates named, in the same transaction; how many."""
    moved = 0
    next_run = {"next_run": move.signal in NEXT_RUN, "forced": forced}
    for body_seq, event, was, waited_for in found:
        place = {"body_seq": body_seq, "event_id": event, "was": was}
        for received_at, run in ask(connection, move.way.kind, place | next_run):
            ask(connection, "leave_shelf", (body_seq, event))
            reason = _reason(move.signal, waited_for, forced=forced)
            history.add(connection, event, received_at, at=at, run=run, signal=move.signal, reason=reason, who=who)
            moved += 1
    return moved


def _ready_from(connection: apsw.Connection, move: Move, event: EventId, at: int, who: str, *, forced: bool) -> bool:
    asked: dict[str, Any] = {"event_id": event, "states": STATES[move.way]}
    if move.way.start is SHELF:
        found = ask(connection, "named_candidates", asked)
        return bool(from_shelf(connection, move, found, at=at, who=who, forced=forced))
    asked |= {"next_run": move.signal in NEXT_RUN, "forced": forced, "replay": Signal.REPLAY}
    for received_at, run in ask(connection, move.way.kind, asked):
        reason, (was,) = _reason(move.signal, "", forced=forced), move.way.states
        history.add(connection, event, received_at, at=at, run=run, signal=move.signal, reason=reason, who=who, was=was)
        return True
    return False


def _values(settlement: Settlement, way: Way, now: int) -> dict[str, Any]:
    is_named = way.guard is not STATE
    values: dict[str, Any] = {
        "event_id": settlement.event_id,
        "run": settlement.run if is_named else None,
        "token": settlement.token if is_named else None,
        "any_token": way.takes_any_token,
    }
    if way.start is not WORK:
        values["states"] = STATES[way]
    # Nearly all are ends, and those tell the database nothing but which event it is.
    if way.end is HISTORY:
        return values
    state = LEADS_TO[settlement.signal]
    return values | {
        "state": state,
        "due_at": now + rows.micros_in(settlement.due_in) if state in TIMED else None,
        "tries": rows.tries_text(settlement.tries),
        "handler": rows.text(settlement.handler),
        "reason": rows.text(settlement.reason),
        "error": rows.text(settlement.error),
        "message": rows.text(settlement.message),
    }


def _reason(signal: Signal, waited_for: str, *, forced: bool) -> str:
    """In the line of history: a replay says whether it is forced, and the others what the event waited for."""
    return ("forced" if forced else "") if signal in NEXT_RUN else waited_for

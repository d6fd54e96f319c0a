"""The moves of `domain.lifecycle`: one statement for each kind, and what it is told from the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apsw

from landfast.domain.holding import LET_PASS, PASSED_BY
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import LEADS_TO, MOVES, NEXT_RUN, TIMED, Guard, Move, Place, Signal, Way
from landfast.domain.outcome import NextRun, Settlement
from landfast.inboxes.sqlite import history, lanes, rows
from landfast.inboxes.sqlite.statements import ask

WORK, SHELF, HISTORY, STATE = Place.WORK, Place.SHELF, Place.HISTORY, Guard.STATE
"""Looked up once: to ask an enum for a member takes as long as to bind a value, and is done for each event."""

SAME_RUN = NextRun()
"""Of signals that start none."""

LETTING_PASS, PASSING = json.dumps(list(LET_PASS)), json.dumps(list(PASSED_BY))

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
        ((received_at, run, source, lane),) = moved
        if lane is not None and settlement.moves_its_lane:
            lanes.advance(connection, [(source, lane)])
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
    connection: apsw.Connection, signal: Signal, event: EventId, *, at: int, who: str, how: NextRun = SAME_RUN
) -> bool:
    """By an operator: from where it is; whether it was there."""
    return any(_ready_from(connection, move, event, at, who, how) for move in MOVES[signal])


def make_claimable(connection: apsw.Connection, event: EventId, held_for: str, *, at: int) -> bool:
    """An event that is unhandled, or held for this; whether it was."""
    for signal in (Signal.ADMIT, Signal.REQUEUE):
        (move,) = MOVES[signal]
        found = ask(connection, "named_candidates", {"event_id": event, "states": STATES[move.way]})
        meant = [each for each in found if signal is not Signal.ADMIT or each[3] == held_for]
        if from_shelf(connection, move, meant, at=at):
            return True
    return False


def from_shelf(
    connection: apsw.Connection,
    move: Move,
    found: Iterable[tuple[int, EventId, str, str]],
    *,
    at: int,
    who: str = "",
    how: NextRun = SAME_RUN,
) -> int:
    """Those that its candidates named, in the same transaction; how many."""
    moved = 0
    next_run = _next_run(move, how)
    for body_seq, event, was, waited_for in found:
        place = {"body_seq": body_seq, "event_id": event, "was": was}
        for received_at, run in ask(connection, move.way.kind, place | next_run):
            ask(connection, "leave_shelf", (body_seq, event))
            # A replay says how, and the others what the event waited for.
            reason = how.reason if move.signal in NEXT_RUN else waited_for
            history.add(connection, event, received_at, at=at, run=run, signal=move.signal, reason=reason, who=who)
            moved += 1
    return moved


def _ready_from(connection: apsw.Connection, move: Move, event: EventId, at: int, who: str, how: NextRun) -> bool:
    asked: dict[str, Any] = {"event_id": event, "states": STATES[move.way]}
    if move.way.start is SHELF:
        found = ask(connection, "named_candidates", asked)
        return bool(from_shelf(connection, move, found, at=at, who=who, how=how))
    asked |= {**_next_run(move, how), "replay": Signal.REPLAY, "holds_again": move.signal not in NEXT_RUN}
    for received_at, run in ask(connection, move.way.kind, asked):
        reason, (was,) = how.reason, move.way.states
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
    values["is_passed"] = settlement.lets_pass
    if settlement.signal is Signal.SKIP:  # what a dead letter died of stays as it is
        kept = dict.fromkeys(("due_at", "tries", "handler", "reason", "error", "line", "message"))
        return values | kept | {"state": state, "now": now}
    return values | {
        "state": state,
        "due_at": now + rows.micros_in(settlement.due_in) if state in TIMED else None,
        "tries": rows.tries_text(settlement.tries),
        "handler": rows.text(settlement.handler),
        "reason": rows.text(settlement.reason),
        "error": rows.text(settlement.error),
        "line": rows.text(settlement.line),
        "now": now,
        "message": rows.text(settlement.message),
    }


def _next_run(move: Move, how: NextRun) -> dict[str, Any]:
    return {
        "next_run": move.signal in NEXT_RUN,
        "forced": how.forced,
        "next_tries": rows.tries_stored(how.tries),
        "let_pass": LETTING_PASS,
        "passed_by": PASSING,
    }

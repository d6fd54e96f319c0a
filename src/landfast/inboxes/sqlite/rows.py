"""Rows to values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from landfast.domain import micros as times
from landfast.domain.audit import Finished, finished_by, names_in
from landfast.domain.ids import HandlerName
from landfast.domain.lane import Front, Lane
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import NO_TRIES, Attempt, Claim, Tries
from landfast.domain.summary import EventSummary, HistoryLine
from landfast.domain.switch import Switch, SwitchKind
from landfast.domain.text import storable

text, micros, micros_in, moment = storable, times.micros, times.micros_in, times.moment
_encode = msgspec.json.Encoder().encode
_tries = msgspec.json.Decoder(dict[HandlerName, Tries]).decode
attempts_in = msgspec.json.Decoder(tuple[Attempt, ...]).decode


def micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def moments_of(seconds: str) -> tuple[datetime, ...]:
    """As a report writes when an event came again: eight hexadecimal digits for each."""
    return tuple(moment(int(seconds[start : start + 8], 16) * 1_000_000) for start in range(0, len(seconds), 8))


def moment_or_none(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def claim(row: Sequence[Any], fronts: Mapping[Lane, Front]) -> Claim:
    """A row of `claimed.sql`."""
    event_id, run, token, forced, suspect, crashes, stored, source, key, type_, entity, occurred_at, received_at = row[
        :13
    ]
    return Claim(
        event_id=event_id,
        run=run,
        token=token,
        forced=bool(forced),
        suspect=bool(suspect),
        crashes=crashes,
        tries=tries(stored),
        source=source,
        key=key,
        type=type_,
        entity=entity,
        occurred_at=moment_or_none(occurred_at),
        received_at=moment(received_at),
        headers=row[13],
        body=row[14],
        place=row[15],
        holds=bool(row[16]),
        is_behind=bool(row[16]) and fronts[source, entity].has_before(row[15]),
    )


def summary(row: Sequence[Any]) -> EventSummary:
    """A row of `find_summaries.sql`."""
    (
        event_id,
        source,
        key,
        type_,
        entity,
        occurred_at,
        received_at,
        state,
        run,
        *told,
        due_at,
        redelivered,
        erased_at,
        expired_at,
    ) = row
    reason, error, message, handler, line, since = told
    return EventSummary(
        event_id=event_id,
        source=source,
        key=key,
        type=type_,
        entity=entity,
        occurred_at=moment_or_none(occurred_at),
        received_at=moment(received_at),
        state=State(state),
        run=run,
        reason=reason,
        error=error,
        message=message,
        handler=handler,
        line=line,
        since=moment_or_none(since),
        due_at=moment_or_none(due_at),
        redelivered=redelivered,
        erased_at=moment_or_none(erased_at),
        body_expired_at=moment_or_none(expired_at),
    )


def line(row: Sequence[Any]) -> HistoryLine:
    """A row of `history.sql`."""
    at, run, signal, state, attempts, reason, who = row
    return HistoryLine(
        at=moment(at),
        run=run,
        signal=Signal(signal),
        state=State(state),
        attempts=attempts_in(attempts),
        reason=reason,
        who=who,
    )


def finished(row: Sequence[Any]) -> Finished:
    """A row of `finished.sql`."""
    seq, event_id, source, key, run, forced, names, attempts = row
    # Without names, of an earlier Landfast: what was attempted in the claim that finished it.
    handlers = finished_by(attempts_in(attempts)) if names is None else names_in(names)
    return Finished(seq, event_id, source, key, run, handlers, bool(forced))


@lru_cache(1_000)  # nearly every event is done by the same few
def handlers_text(handlers: tuple[HandlerName, ...]) -> str:
    return text("\n".join(handlers))


def switch(row: Sequence[Any]) -> Switch:
    """A row of `switches.sql`."""
    kind, name, why, who, at, until, at_once = row
    return Switch(SwitchKind(kind), name, why, who, moment(at), moment_or_none(until), bool(at_once))


def tries(stored: str | None) -> Mapping[HandlerName, Tries]:
    """None where the event is done."""
    return NO_TRIES if stored in (None, "{}") else _tries(stored)


def tries_text(made: Mapping[HandlerName, Tries]) -> str | None:
    """None where there are none to tell: those that are stored stay."""
    return _encode(dict(made)).decode() if made else None


def tries_stored(made: Mapping[HandlerName, Tries]) -> str:
    """Those that a run begins with."""
    return _encode(dict(made)).decode()


def attempts_text(attempts: Sequence[Attempt]) -> str:
    try:
        return _encode(attempts).decode()
    except UnicodeEncodeError:
        return _encode([attempt.storable() for attempt in attempts]).decode()

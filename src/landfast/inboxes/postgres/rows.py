"""Rows to values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import asyncpg
import msgspec

from landfast.domain.audit import Finished, finished_by, names_in
from landfast.domain.ids import EventId, HandlerName, Token
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import NO_TRIES, Attempt, Claim, Tries
from landfast.domain.summary import EventSummary, HistoryLine
from landfast.domain.text import storable

text = storable
_encode = msgspec.json.Encoder().encode
_tries = msgspec.json.Decoder(dict[HandlerName, Tries]).decode
attempts_in = msgspec.json.Decoder(tuple[Attempt, ...]).decode


def claim(row: asyncpg.Record, *, is_behind: bool = False) -> Claim:
    return Claim(
        event_id=EventId(row["event_id"]),
        run=row["run"],
        token=Token(row["token"]),
        forced=row["forced"],
        suspect=row["suspect"],
        crashes=row["crashes"],
        tries=tries(row["tries"]),
        source=row["source"],
        key=row["key"],
        type=row["type"],
        entity=row["entity"],
        occurred_at=row["occurred_at"],
        received_at=row["received_at"],
        headers=row["headers"],
        body=row["body"],
        place=row["place"],
        holds=row["holds"],
        is_behind=is_behind,
    )


def summary(row: asyncpg.Record) -> EventSummary:
    return EventSummary(
        event_id=EventId(row["event_id"]),
        source=row["source"],
        key=row["key"],
        type=row["type"],
        entity=row["entity"],
        occurred_at=row["occurred_at"],
        received_at=row["received_at"],
        state=State(row["state"]),
        run=row["run"],
        reason=row["reason"],
        error=row["error"],
        message=row["message"],
        handler=row["handler"],
        line=row["line"],
        since=row["shelved_at"],
        due_at=row["due_at"],
        redelivered=row["redelivered"],
        erased_at=row["erased_at"],
        body_expired_at=row["expired_at"],
    )


def line(row: asyncpg.Record) -> HistoryLine:
    return HistoryLine(
        at=row["at"],
        run=row["run"],
        signal=Signal(row["signal"]),
        state=State(row["state"]),
        attempts=attempts_in(row["attempts"]),
        reason=row["reason"],
        who=row["who"],
    )


def finished(row: asyncpg.Record) -> Finished:
    names: str | None = row["handlers"]
    # Without names, of an earlier Landfast: what was attempted in the claim that finished it.
    handlers = finished_by(attempts_in(row["attempts"])) if names is None else names_in(names)
    event = EventId(row["event_id"])
    return Finished(row["seq"], event, row["source"], row["key"], row["run"], handlers, row["forced"])


@lru_cache(1_000)  # nearly every event is done by the same few
def handlers_text(handlers: tuple[HandlerName, ...]) -> str:
    return text("\n".join(handlers))


def tries(stored: bytes | None) -> Mapping[HandlerName, Tries]:
    """None where the event is done."""
    return NO_TRIES if stored in (None, b"{}") else _tries(stored)


def tries_json(made: Mapping[HandlerName, Tries]) -> bytes | None:
    """None where there are none to tell: those that are stored stay."""
    return _encode(dict(made)) if made else None


def tries_stored(made: Mapping[HandlerName, Tries]) -> bytes:
    """Those that a run begins with."""
    return _encode(dict(made))


def attempts_json(attempts: Sequence[Attempt]) -> bytes:
    try:
        return _encode(attempts)
    except UnicodeEncodeError:
        return _encode([attempt.storable() for attempt in attempts])


def like(pattern: str | None) -> str | None:
    """A pattern of ours, in which only `*` is special, as one of LIKE's."""
    if pattern is None:
        return None
    return pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("*", "%")

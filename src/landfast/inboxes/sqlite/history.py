"""Append-only: one line for each transition that somebody decided."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from landfast.domain.ids import EventId, HandlerName
from landfast.domain.lifecycle import LEADS_TO, Signal, State
from landfast.domain.outcome import Attempt
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.statements import ask


def add(
    connection: apsw.Connection,
    event: EventId,
    received_at: int,
    *,
    at: int,
    run: int,
    signal: Signal,
    attempts: Sequence[Attempt] = (),
    reason: str = "",
    who: str = "",
    was: State | None = None,
    handlers: tuple[HandlerName, ...] | None = None,
) -> None:
    """`was` where the event is done no longer; `handlers` where it is now."""
    told = (rows.attempts_text(attempts), rows.text(reason), rows.text(who))
    named = None if handlers is None else rows.handlers_text(handlers)
    ask(connection, "history_add", (received_at, event, at, run, signal, LEADS_TO[signal], *told, was or "", named))

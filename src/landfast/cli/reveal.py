"""`--reveal`: show what commands hide of an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from landfast.app import Inbox
from landfast.domain.redaction import Redaction
from landfast.domain.summary import EventRecord, EventSummary
from landfast.recovery.redacted import redacted_record, redacted_row, redacted_summary

F = TypeVar("F", bound=Callable[..., Any])


def reveal_option(function: F) -> F:
    text = "Show what is hidden, too: secrets, card numbers, and the fields of the setting `redact`."
    return click.option("--reveal", is_flag=True, help=text)(function)


def record_to_show(record: EventRecord, inbox: Inbox, *, reveal: bool) -> EventRecord:
    if reveal:
        return record
    shown = redacted_record(record, Redaction(inbox.settings.redact))
    if shown != record:
        click.echo("landfast: note: some fields are hidden; add --reveal to see them", err=True)
    return shown


def summaries_to_show(found: Sequence[EventSummary], inbox: Inbox) -> Sequence[EventSummary]:
    redaction = Redaction(inbox.settings.redact)
    return [redacted_summary(each, redaction) for each in found]


def rows_to_show(rows: Sequence[Mapping[str, Any]], inbox: Inbox, *, reveal: bool) -> Sequence[dict[str, Any]]:
    """Of effects, as the ledger lists them."""
    redaction = Redaction(inbox.settings.redact)
    return [dict(row) if reveal else redacted_row(row, redaction) for row in rows]


def text_to_show(text: str, inbox: Inbox) -> str:
    """A message."""
    return Redaction(inbox.settings.redact).text(text)

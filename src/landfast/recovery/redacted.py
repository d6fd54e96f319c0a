"""What an operator is shown of an event: without the fields that are hidden. What is stored stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from landfast.domain.outcome import Attempt
from landfast.domain.redaction import Redaction
from landfast.domain.summary import EventRecord, EventSummary

_HOLD_JSON = ("arguments", "result")


def redacted_record(record: EventRecord, redaction: Redaction) -> EventRecord:
    history = tuple(
        replace(line, attempts=tuple(_attempt(attempt, redaction) for attempt in line.attempts))
        for line in record.history
    )
    return replace(
        record,
        summary=redacted_summary(record.summary, redaction),
        headers=_headers(record.headers, redaction),
        body=redaction.body(record.body),
        history=history,
    )


def redacted_summary(summary: EventSummary, redaction: Redaction) -> EventSummary:
    return replace(summary, message=redaction.text(summary.message))


def redacted_row(row: Mapping[str, Any], redaction: Redaction) -> dict[str, Any]:
    """Of an effect, as a ledger lists it, or of anything else that has a message, a trace, arguments or a result."""
    return {name: _column(name, value, redaction) for name, value in row.items()}


def _column(name: str, value: Any, redaction: Redaction) -> Any:
    if name in _HOLD_JSON and isinstance(value, str | bytes):
        shown = redaction.body(value.encode() if isinstance(value, str) else value)
        return shown.decode() if isinstance(value, str) else shown
    if name in _HOLD_JSON:
        return redaction.value(value)
    return redaction.text(value) if name in ("message", "trace") and isinstance(value, str) else value


def _attempt(attempt: Attempt, redaction: Redaction) -> Attempt:
    return replace(attempt, message=redaction.text(attempt.message), trace=redaction.text(attempt.trace))


def _headers(headers: bytes, redaction: Redaction) -> bytes:
    try:
        pairs = json.loads(headers)
    except ValueError:
        return headers
    shown = redaction.headers(pairs)
    return headers if shown == pairs else json.dumps(shown).encode()

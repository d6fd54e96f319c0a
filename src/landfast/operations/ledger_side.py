"""What the ledger knows of one event: receipts with what handlers returned, and effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.redaction import Redaction
from landfast.domain.response import read_result
from landfast.domain.summary import EventSummary
from landfast.operations.readable import json_or_text
from landfast.ports.ledger import Ledger
from landfast.recovery.redacted import redacted_row

EFFECTS_SHOWN = 100
JSON = ("arguments", "context", "result")
"""Columns of an effect that hold JSON."""


async def ledger_side(
    ledger: Ledger, identity: InboxId, event: EventSummary, redaction: Redaction | None
) -> dict[str, list[dict[str, Any]]]:
    """Without a redaction nothing is hidden."""
    digest = receipt_digest(identity, event.source, event.key)
    receipts = await ledger.receipts([digest])
    effects = await ledger.list(digest=digest, limit=EFFECTS_SHOWN)
    return {
        "receipts": [
            {
                "handler": receipt.key.handler,
                "run": receipt.key.run,
                "outcome": receipt.outcome,
                "result": _shown(_result(receipt.result), redaction) if receipt.result else None,
            }
            for receipt in receipts
        ],
        "effects": [readable_effect(row if redaction is None else redacted_row(row, redaction)) for row in effects],
    }


def readable_effect(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _decoded(value) if name in JSON else value for name, value in plain_row(row).items()}


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """An effect as the ledger lists it, with plain values for its place in the graph."""
    step = row["step"]
    return {name: value for name, value in row.items() if name != "step"} | {
        "named": step.named,
        "after": list(step.after),
    }


def _shown(value: Any, redaction: Redaction | None) -> Any:
    """A decoded one, in whose texts a field may be quoted."""
    return value if redaction is None else redaction.told(value)


def _result(result: bytes) -> Any:
    """The answer of an endpoint with its body as data: what is hidden in data is not hidden in a text that holds it."""
    answer = read_result(result)
    if answer is None:
        return json_or_text(result)
    headers = dict(answer.headers)
    return {"response": {"status": answer.status, "headers": headers, "body": json_or_text(answer.content)}}


def _decoded(column: bytes | str | None) -> Any:
    return None if column is None else json_or_text(column.encode() if isinstance(column, str) else column)

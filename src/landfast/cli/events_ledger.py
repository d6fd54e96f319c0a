"""What `events show` says of the ledger: receipts with what handlers returned, and effects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from landfast.app import Inbox
from landfast.cli.output import safe, say
from landfast.domain.errors import LandfastError
from landfast.domain.redaction import Redaction
from landfast.domain.summary import EventSummary
from landfast.operations import ledger_side as operations

RESULT_SHOWN = 200
"""Characters of a result in a terminal; `--json` has all of it."""


async def ledger_side(inbox: Inbox, event: EventSummary, *, reveal: bool) -> dict[str, Any]:
    """Receipts and effects. The inbox's side is worth showing without them, so a ledger that is away is only noted."""
    redaction = None if reveal else Redaction(inbox.settings.redact)
    try:
        async with inbox.stores() as stores:
            return dict(await operations.ledger_side(stores.ledger, stores.identity, event, redaction))
    except LandfastError as error:
        return {"ledger": str(error)}


def say_ledger_side(ledger: Mapping[str, Any]) -> None:
    for receipt in ledger.get("receipts", ()):
        returned = "" if _is_answer(receipt["result"]) else _returned(receipt)
        say(f"receipt  {safe(receipt['handler'])} run {receipt['run']}: {receipt['outcome']}{returned}")
        _say_answer(receipt["result"])
    for effect in ledger.get("effects", ()):
        state = f"{effect['state']}{_returned(effect)}"
        say(f"effect   {safe(str(effect['name']))} run {effect['run']}: {state}  key {effect['key']}")
    if "ledger" in ledger:
        say(f"ledger   not shown: {safe(ledger['ledger'])}")


def _returned(row: Mapping[str, Any]) -> str:
    """What a handler or an effect returned."""
    result = row["result"]
    return "" if result is None else f", returned {safe(json.dumps(result, ensure_ascii=False))[:RESULT_SHOWN]}"


def _say_answer(result: Any) -> None:
    """What callers of an endpoint are told."""
    if not _is_answer(result):
        return
    answer = result["response"]
    say(f"answer   {answer['status']}  {safe(msgspec.json.encode(answer['body']).decode())}")
    for name, value in answer["headers"].items():
        say(f"         {safe(name)}: {safe(str(value))}")


def _is_answer(result: Any) -> bool:
    answer = result.get("response") if isinstance(result, dict) else None
    return isinstance(answer, dict) and "status" in answer

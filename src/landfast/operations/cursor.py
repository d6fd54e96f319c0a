"""A place in a listing, as text that can be passed on."""

from __future__ import annotations

from datetime import datetime

from landfast.domain.errors import UserError
from landfast.domain.ids import EventId
from landfast.domain.summary import Cursor, EventSummary


def cursor_text(last: EventSummary | Cursor) -> str:
    return f"{last.received_at.isoformat()}/{last.event_id.hex()}"


def read_cursor(text: str) -> Cursor:
    at, _, event = text.partition("/")
    try:
        cursor = Cursor(datetime.fromisoformat(at), EventId(bytes.fromhex(event)))
    except ValueError:
        cursor = None
    if cursor is None or cursor.received_at.tzinfo is None or len(cursor.event_id) != 16:
        raise UserError("after: give the cursor that the last page ended with")
    return cursor

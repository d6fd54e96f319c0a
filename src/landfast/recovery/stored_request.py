"""What an inbox keeps of the request that brought an event, for whoever sends it on: to another inbox, or to a test."""

from __future__ import annotations

import json
import re

from landfast.domain.errors import UserError
from landfast.domain.summary import EventRecord

OF_THE_WAY = frozenset(
    {"host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"}
    | {"forwarded", "via", "accept-encoding"}
)
"""Headers, in small letters, that tell of the connection and the proxies of then, and not of the sender."""

is_digest = re.compile(r"sha256:[0-9a-f]{32}").fullmatch
"""What intake keeps of a signature."""


def headers_of(record: EventRecord) -> dict[str, str]:
    """The sender's own, by name in small letters. What was a signature or a token is not among them: a token was never
    stored, and a signature only as a digest."""
    headers: dict[str, str] = {}
    for name, value in json.loads(record.headers or b"[]"):
        if name in OF_THE_WAY or name.startswith(("x-forwarded-", "x-real-ip")) or is_digest(value):
            continue
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def must_have_body(record: EventRecord, command: str) -> None:
    if why := no_body(record):
        raise UserError(f"{command}: event {record.summary.event_id.hex()} {why}")


def no_body(record: EventRecord) -> str:
    """Why there is nothing to send on; empty where there is."""
    erased_at = record.summary.erased_at
    if erased_at is not None:
        return f"was erased at {erased_at:%Y-%m-%d %H:%M:%SZ}"
    if record.summary.body_expired_at is not None:
        return f"has no body in the inbox any more: it expired on {record.summary.body_expired_at:%Y-%m-%d}"
    is_gone = not record.body and json.loads(record.headers or b"[]") == []
    return "has no body in the inbox any more" if is_gone else ""

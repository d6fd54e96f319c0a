"""Events in a file, to be taken to another inbox: one JSON object a line, with the exact bytes of each.

    {"version": 1, "source": "stripe", "key": "evt_1", "type": "invoice.paid", "entity": "in_1",
     "occurred_at": "2026-01-01T00:00:00+00:00", "received_at": "...", "headers": [["content-type", "..."]],
     "body": "..."}

`body_base64` takes the place of `body` where the bytes are no UTF-8. The characters of a header's value are its bytes
(latin-1). There is no signature in it, and no token: an inbox keeps neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from landfast.domain.delivery import Delivery
from landfast.domain.errors import UserError
from landfast.domain.ids import event_id
from landfast.domain.summary import EventRecord
from landfast.domain.text import is_storable
from landfast.recovery.stored_request import is_digest

VERSION = 1

LINE_BYTES_AT_MOST = 64 * 1024 * 1024
"""Of one event: far more than any source takes in, and a file of something else ends here."""


class FiledEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int
    source: str
    key: str
    type: str
    entity: str | None = None
    occurred_at: datetime | None = None
    received_at: datetime | None = None
    """When the inbox that it comes from received it."""
    headers: list[tuple[str, str]] = []
    body: str | None = None
    body_base64: bytes | None = None

    def delivery(self, received_at: datetime) -> Delivery:
        """As a new arrival. Its key is the sender's, so a second import of it is a duplicate."""
        content = self.body_base64 if self.body is None else self.body.encode()
        return Delivery(
            source=self.source,
            key=self.key,
            type=self.type,
            entity=self.entity,
            occurred_at=self.occurred_at,
            received_at=received_at,
            headers=msgspec.json.encode(self.headers),
            body=content or b"",
            event_id=event_id(self.source, self.key),
        )


_decode = msgspec.json.Decoder(FiledEvent).decode


def line_of(record: EventRecord) -> bytes:
    event = record.summary
    pairs = [(name, value) for name, value in json.loads(record.headers or b"[]") if not is_digest(value)]
    text = _text(record.body)
    filed = FiledEvent(
        version=VERSION,
        source=event.source,
        key=event.key,
        type=event.type,
        entity=event.entity,
        occurred_at=event.occurred_at,
        received_at=event.received_at,
        headers=pairs,
        body=text,
        body_base64=record.body if text is None else None,
    )
    return msgspec.json.encode(filed) + b"\n"


def read_line(line: bytes, place: str) -> FiledEvent:
    """UserError says what is wrong with it, and where it stands."""
    try:
        fields: Any = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise UserError(f"{place}: it is no JSON; export the events again with landfast events export") from None
    version = fields.get("version") if isinstance(fields, dict) else None
    if version != VERSION:
        raise UserError(
            f"{place}: its version is {version!r}, and this Landfast reads version {VERSION};"
            " export the events again with a Landfast of this version"
        )
    try:
        event = _decode(line)
    except msgspec.ValidationError as error:
        raise UserError(f"{place}: {error}") from None
    _check(event, place)
    return event


def read_file(lines: Iterator[bytes], name: str) -> Iterator[FiledEvent]:
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_BYTES_AT_MOST:
            raise UserError(f"{name} line {number}: it is longer than {LINE_BYTES_AT_MOST:,} bytes")
        if line.strip():
            yield read_line(line, f"{name} line {number}")


def _check(event: FiledEvent, place: str) -> None:
    if (event.body is None) == (event.body_base64 is None):
        raise UserError(f"{place}: it needs body or body_base64, and not both")
    if not event.source or not event.key:
        raise UserError(f"{place}: source and key must not be empty")
    for name in ("source", "key", "type", "entity"):
        if not is_storable(getattr(event, name) or ""):
            raise UserError(f"{place}: {name} is too long, or holds a character that no database takes")
    for moment in (event.occurred_at, event.received_at):
        if moment is not None and moment.tzinfo is None:
            raise UserError(f"{place}: a time has no zone; write it as 2026-01-01T00:00:00Z")


def _text(body: bytes) -> str | None:
    """None where it is no UTF-8, which is what JSON is written in."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None

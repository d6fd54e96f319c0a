"""An event as the request that brought it, for whoever sends it on: `landfast listen`. It has the exact bytes, so it
takes the role that may see what is hidden."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.questions.event import EventAsked, found_event
from landfast.admin.questions.events import EventRow, row_of
from landfast.app.batch_of_one import body_alone
from landfast.app.sources import profile_of
from landfast.domain.summary import EventRecord
from landfast.recovery.stored_request import headers_of, no_body


class EventRequest(Answered):
    event: EventRow
    provider: str
    """That the source has here; empty where it is not configured any more."""
    headers: Mapping[str, str]
    """The sender's own, by name. What proved who sent it is not among them: of a signature the inbox keeps a digest, of
    a token nothing. Whoever sends it on signs anew."""
    body_base64: str
    """The exact bytes. Of an event that came with others in one request, those of a request that has it alone."""
    no_body: str
    """Why there are none any more; empty where they are there."""


async def event_request(desk: Desk, asked: EventAsked) -> EventRequest:
    """The request that brought an event: its headers without the signature, and its exact bytes."""
    record = await found_event(desk, asked.event)
    gone = no_body(record)
    settings = desk.inbox.sources.get(record.summary.source)
    return EventRequest(
        event=row_of(record.summary),
        provider=settings.provider if settings else "",
        headers={} if gone else headers_of(record),
        body_base64="" if gone else base64.b64encode(_body(desk, record)).decode(),
        no_body=gone,
    )


def _body(desk: Desk, record: EventRecord) -> bytes:
    settings = desk.inbox.sources.get(record.summary.source)
    return record.body if settings is None else body_alone(profile_of(settings), record, "request")

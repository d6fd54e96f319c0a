"""Receive: the spine of intake. verify -> identify -> seen -> record -> answer.

Sans-I/O as far as the network goes: whoever reads the bytes (our own server, or any ASGI server) calls `admit` when it
has the head of a request, `receive` when it has the body, and `refuse` when the request itself is broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple, Protocol

from landfast import telemetry
from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Head, Headers
from landfast.domain.errors import (
    BodyTooLargeError,
    UnknownSourceError,
    UnsupportedEncodingError,
    WrongMethodError,
)
from landfast.domain.ids import EventId, event_id
from landfast.intake.answers import answer_to
from landfast.intake.identify import deliveries, identify
from landfast.intake.record import Conclude, Outcome
from landfast.intake.source import Source
from landfast.intake.tally import Tally
from landfast.intake.verify import present, verify
from landfast.ports.clock import Clock
from landfast.ports.provider import Signature
from landfast.ports.seen import Seen

NO_SOURCE = ""
"""Under this name requests are counted that name no source of ours."""


class Records(Protocol):
    """What makes deliveries durable: `intake.record.GroupCommit`."""

    def record(self, deliveries: Sequence[Delivery], conclude: Conclude) -> asyncio.Future[Answer]: ...


class Admitted(NamedTuple):
    """A request whose body is worth reading. Nothing is believed yet."""

    source: Source
    head: Head
    signature: Signature
    at: datetime


class Intake:
    """Every request ends in exactly one of stored, duplicate and rejected; here is where each is counted."""

    def __init__(self, sources: Iterable[Source], *, recorder: Records, seen: Seen, tally: Tally, clock: Clock) -> None:
        self._routes = {f"/in/{source.name}": source for source in sources}
        self._recorder = recorder
        self._seen = seen
        self._tally = tally
        self._clock = clock

    def admit(self, head: Head) -> Admitted:
        """Everything that can be refused before the body is read, cheapest first. What it raises is counted already:
        answer it with `answer_to`."""
        source = self._routes.get(head.path)
        name = NO_SOURCE if source is None else source.name
        self._tally.received(name)
        try:
            return self._admit(source, head)
        except Exception as error:
            self._reject(name, error)
            raise

    def receive(self, admitted: Admitted, body: bytes) -> Answer | asyncio.Future[Answer]:
        """The answer to a whole request: at once where nothing has to be written, or after the COMMIT. Never raises."""
        source, head, signature, now = admitted
        try:
            verify(source, signature, head, body)
            greeting = source.provider.handshake(head, body)
            if greeting is not None:
                self._tally.withdrawn(source.name)
                return greeting
            identities = identify(source, head, body, now=now)
            events = [event_id(source.name, identity.key) for identity in identities]
            if all(map(self._seen.has, events)):
                return self._duplicate(source.name, events)
            request = deliveries(source, identities, events, head=head, body=body, now=now)
            return self._recorder.record(request, partial(self._conclude, source.name, events[0]))
        except Exception as error:  # noqa: BLE001 - an error in here is answered like any other, never shown
            return self._reject(source.name, error)

    def refuse(self, source: str | None, error: Exception) -> Answer:
        """The answer to a request that cannot be read: broken, cut short, too slow or too large. `source` is the
        admitted one; None if it did not get that far, or is answered for already."""
        if source is None:
            self._tally.received(NO_SOURCE)
        return self._reject(source or NO_SOURCE, error)

    def _admit(self, source: Source | None, head: Head) -> Admitted:
        if source is None:
            raise UnknownSourceError
        if head.method != "POST":
            raise WrongMethodError
        if not _is_identity(head.headers):
            raise UnsupportedEncodingError
        now = self._clock.now()
        signature = present(source, head.headers, now=now.timestamp())
        if head.content_length is not None and head.content_length > source.body_limit:
            raise BodyTooLargeError(f"{head.content_length} bytes announced")
        return Admitted(source, head, signature, now)

    def _conclude(self, source: str, first: EventId, outcome: Outcome) -> Answer:
        if isinstance(outcome, Exception):
            return self._reject(source, outcome)
        again = [row.event_id for row in outcome if not row.is_new]
        if len(again) == len(outcome):
            return self._duplicate(source, again)
        for event in again:
            self._tally.came_again(event)
        self._tally.stored(source)
        return answer.stored(first)

    def _duplicate(self, source: str, events: Sequence[EventId]) -> Answer:
        for event in events:
            self._tally.came_again(event)
        self._tally.duplicate(source)
        return answer.duplicate(events[0])

    def _reject(self, source: str, error: Exception) -> Answer:
        self._tally.rejected(source)
        given = answer_to(error)
        if given.status == 500:
            telemetry.error("request failed", trace=error, source=source)
        else:
            telemetry.info("rejected", source=source, status=given.status, reason=error)
        return given


def _is_identity(headers: Headers) -> bool:
    encoding = headers.get(b"content-encoding")
    return encoding is None or (encoding.lower() in {b"", b"identity"} and not headers.is_repeated(b"content-encoding"))

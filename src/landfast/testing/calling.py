"""Calls of an endpoint in a test: signed as a caller would, answered as intake would, with a worker in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from landfast.app import Inbox
from landfast.config import SourceSettings, nearest
from landfast.domain.answer import Answer
from landfast.domain.errors import UserError
from landfast.intake.receive import Intake
from landfast.testing.reports import Called
from landfast.testing.requests import SignedRequest, answer_of, signed
from landfast.testing.sender_secrets import Pair
from landfast.testing.temporary import ShiftedClock

RUNNING = 202


class Calling:
    """The part of an InboxTester that calls endpoints."""

    _inbox: Inbox
    _pair: Callable[[SourceSettings], Pair]
    _has_delivered: bool
    _clock: ShiftedClock
    drain: Callable[..., Awaitable[None]]

    async def call(self, endpoint: str, body: Any = None, *, key: str, raises: bool = True) -> Called:
        """Call an endpoint, by its name or its path, under this key, with a body that is JSON, or with these bytes.
        What is not answered at once is worked on as `drain` does it, and asked for again: so the answer is the stored
        one.
        With `raises=False` what the function raised is left at `errors`, and the caller is told what it would be."""
        __tracebackhide__ = True
        self._has_delivered = True
        settings = endpoint_named(self._inbox.sources, endpoint)
        async with self._inbox.intake() as intake:
            return await call(
                intake,
                lambda: call_request(settings, self._pair(settings), now=self._clock.now(), body=body, key=key),
                lambda: self.drain(raises=raises),
            )


async def call(intake: Intake, request: Callable[[], SignedRequest], drain: Callable[[], Awaitable[None]]) -> Called:
    __tracebackhide__ = True
    told = await answer_of(intake, request())
    if told.status == RUNNING:
        await drain()
        told = await answer_of(intake, request())
    return _called(told)


def call_request(settings: SourceSettings, pair: Pair, *, now: datetime, body: Any, key: str) -> SignedRequest:
    return signed(settings, pair, now=now, body={} if body is None else body, id=key)


def endpoint_named(sources: Mapping[str, SourceSettings], name: str) -> SourceSettings:
    found = {each: source for source in sources.values() if source.endpoint for each in (source.name, source.path)}
    if name not in found:
        hint = nearest(name, found) or f"; there are {', '.join(found) or 'none'}"
        raise UserError(f"call: there is no endpoint {name!r}{hint}")
    return found[name]


def _called(answer: Answer) -> Called:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
    return Called(answer.status, answer.body, {"content-type": answer.content_type.decode("latin-1"), **headers})

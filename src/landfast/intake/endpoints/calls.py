"""What a call must have before it is worth reading, and what makes its body one that can be handled."""

from __future__ import annotations

from landfast.domain import body as bodies
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.endpoint import KEY_HEADER, TIMESTAMP_HEADER, Endpoint, key_in
from landfast.domain.errors import BadCallError, MalformedBodyError, UnverifiedError, WrongMethodError
from landfast.domain.ids import EventId, event_id
from landfast.intake.endpoints import problems
from landfast.intake.source import Source
from landfast.intake.verify import distance


def check_head(source: Source, endpoint: Endpoint, head: Head, *, now: float) -> None:
    """BadCallError, WrongMethodError or UnverifiedError for a call that is refused whatever its body is."""
    asked = endpoint.event_in(head.path)
    if head.method != ("POST" if asked is None else "GET"):
        raise WrongMethodError(status=_use("POST" if asked is None else "GET"))
    key = _key(head)
    if key is None and (asked is None or head.headers.get(KEY_HEADER) is not None):
        raise BadCallError("no Idempotency-Key, or none that can be used", status=problems.KEY_MISSING)
    if asked is not None and key is not None and event_id(source.name, key) != asked:
        raise BadCallError("the link is another call's than the key", status=problems.UNKNOWN_CALL)
    _check_time(source, head, now)


def check_body(head: Head, body: bytes) -> None:
    """A webhook that cannot be read is stored, for its sender would lose it. A caller can mend it: nothing is stored
    under its key, and the right body may have it."""
    try:
        bodies.decode(body, head.headers.text(b"content-type"))
    except MalformedBodyError as error:
        raise BadCallError(str(error), status=problems.malformed(str(error))) from None


def asked_event(endpoint: Endpoint | None, head: Head) -> EventId | None:
    """Where a request only asks what became of a call."""
    return None if endpoint is None or head.method != "GET" else endpoint.event_in(head.path)


def _key(head: Head) -> str | None:
    return None if head.headers.is_repeated(KEY_HEADER) else key_in(head.headers.get(KEY_HEADER))


def _check_time(source: Source, head: Head, now: float) -> None:
    given = None if head.headers.is_repeated(TIMESTAMP_HEADER) else head.headers.text(TIMESTAMP_HEADER)
    at = None if given is None else bodies.moment(given)
    if at is None:
        raise BadCallError("no X-Request-Timestamp, or none that is a time", status=problems.TIMESTAMP_MISSING)
    if not abs(now - at.timestamp()) <= source.tolerance:
        raise UnverifiedError(f"X-Request-Timestamp is {distance(at.timestamp(), now)}")


def _use(method: str) -> Answer:
    allow = ((b"allow", method.encode()),)
    return problems.problem(405, "wrong-method", f"use {method}", headers=allow, close=True)

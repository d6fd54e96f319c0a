"""Events to prove a handler with: one that it takes, and others that differ from it in what may matter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from landfast.domain.delivery import Head, Headers, Identity
from landfast.domain.errors import LandfastError, UserError
from landfast.domain.ids import Token, event_id
from landfast.domain.outcome import NO_TRIES, Claim
from landfast.domain.patterns import matches
from landfast.processing.handlers.registry import Handler
from landfast.providers import Profile
from landfast.providers.samples import sample_of
from landfast.providers.signing import sample

LATER = timedelta(seconds=60)
"""Between an event and the next one of the same object."""

_ID_NAME = re.compile(r"(^|_)(id|ids|uuid|guid)$|[a-z](Id|ID|Uuid)$", re.IGNORECASE)
_ID_VALUE = re.compile(
    r"[a-z]{2,8}_(?=[A-Za-z0-9_]*[A-Z0-9])[A-Za-z0-9_]{4,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
"""As in cus_9s6XKzkNRiz8i3, or a UUID."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An event that a handler is run with, before it is given an inbox."""

    source: str
    key: str
    type: str
    body: bytes
    received_at: datetime
    entity: str | None = None
    occurred_at: datetime | None = None
    headers: bytes = b'[["content-type","application/json"]]'

    def claim(self) -> Claim:
        return Claim(
            event_id=event_id(self.source, self.key),
            run=1,
            token=Token(b"prove-it"),
            forced=False,
            suspect=False,
            crashes=0,
            tries=NO_TRIES,
            source=self.source,
            key=self.key,
            type=self.type,
            entity=self.entity,
            occurred_at=self.occurred_at,
            received_at=self.received_at,
            headers=self.headers,
            body=self.body,
        )


def sample_for(handler: Handler, profile: Profile, *, now: datetime) -> Sample:
    """What `landfast send` would send to it."""
    type_ = _type_for(handler, profile)
    at = now.timestamp()
    body = sample(profile, type_, id="evt_prove_1", now=at, day=at)
    return sample_of_body(handler, profile, body, now=now, type_=type_)


def sample_of_body(
    handler: Handler, profile: Profile, body: bytes, *, now: datetime, type_: str | None = None
) -> Sample:
    """A body of the user's own, or of a provider's sample: key, type and time are read as intake would read them."""
    type_ = type_ or _type_for(handler, profile)
    chosen = sample_of(profile, type_)
    kind = "application/x-www-form-urlencoded" if chosen.is_form else "application/json"
    pairs = [("content-type", kind)]
    for name, text in chosen.headers.items():
        pairs.append((name.lower(), text.replace("{id}", "evt_prove_1").replace("{type}", type_)))
    identity = _identity(profile, pairs, body, handler, type_, now)
    return Sample(
        source=handler.source,
        key=identity.key,
        type=identity.type,
        body=body if identity.body is None else identity.body,
        received_at=now,
        entity=identity.entity,
        occurred_at=identity.occurred_at,
        headers=json.dumps(pairs).encode(),
    )


def _identity(
    profile: Profile, pairs: Sequence[tuple[str, str]], body: bytes, handler: Handler, type_: str, now: datetime
) -> Identity:
    head = Head("POST", "/", "", Headers((name.encode(), text.encode()) for name, text in pairs), len(body))
    try:
        found = profile.identify(head, body, received_at=now)
    except (LandfastError, ValueError, LookupError, TypeError):
        found = []
    fitting = [each for each in found if handler.takes(handler.source, each.type)]
    return fitting[0] if fitting else Identity("evt_prove_1", type_, None, now)


def _type_for(handler: Handler, profile: Profile) -> str:
    known = [each.type for each in profile.samples if matches(handler.pattern, each.type)]
    if "*" not in handler.pattern:
        return handler.pattern
    return known[0] if known else handler.pattern.replace("*", "sample")


def sample_of_claim(claim: Claim) -> Sample:
    """A stored event, as it came."""
    return Sample(
        source=claim.source,
        key=claim.key,
        type=claim.type,
        body=claim.body,
        received_at=claim.received_at,
        entity=claim.entity,
        occurred_at=claim.occurred_at,
        headers=claim.headers,
    )


def next_of_same(given: Sample, number: int = 2) -> Sample:
    """Another event about the same objects, a minute later."""
    key = f"{given.key}-{number}" if given.key else f"evt_prove_{number}"
    body = given.body.replace(given.key.encode(), key.encode()) if given.key else given.body
    moved = replace(given, key=key, body=body, received_at=given.received_at + LATER)
    if given.occurred_at is None:
        return moved
    return replace(moved, body=_moved(body, given.occurred_at), occurred_at=given.occurred_at + LATER)


def of_other_objects(given: Sample) -> Sample:
    """An event of the same type about other objects: every id in it is another one, and so is its entity."""
    entity = None if given.entity is None else _other_id(("id",), given.entity)
    return _changed(replace(next_of_same(given), entity=entity), _other_id)


def with_other_values(given: Sample, values: Sequence[Any]) -> Iterator[tuple[str, Sample]]:
    """Later events about the same objects, each with another value in one place: where one of these values stands."""
    data = _data(next_of_same(given))
    if data is None:
        return
    for path, value in _leaves(data):
        if _is_value(path[-1], value) and value in values:
            other = value + 1 if isinstance(value, int | float) else f"{value}-2"
            yield ".".join(map(str, path)), _changed(next_of_same(given), _only(path, other))


def read_sample(text: str) -> bytes:
    """UserError where a file holds nothing that could be a body."""
    body = text.strip().encode()
    if not body:
        raise UserError("prove: the sample is empty; give a body as the sender sends it")
    return body


def _moved(body: bytes, occurred_at: datetime) -> bytes:
    """The time in it, where it stands as seconds or milliseconds."""
    seconds = int(occurred_at.timestamp())
    for old, new in ((seconds * 1000, (seconds + 60) * 1000), (seconds, seconds + 60)):
        body = re.sub(rb"\b%d\b" % old, b"%d" % new, body)
    return body


def _changed(given: Sample, change: Any) -> Sample:
    data = _data(given)
    if data is None:
        return given
    made = _walk(data, (), change)
    is_form = not given.body.lstrip().startswith((b"{", b"["))
    body = urlencode(made).encode() if is_form else json.dumps(made, separators=(",", ":")).encode()
    return replace(given, body=body)


def _data(given: Sample) -> Any:
    try:
        return json.loads(given.body)
    except ValueError:
        pairs = parse_qsl(given.body.decode("utf-8", "replace"), keep_blank_values=True)
        return dict(pairs) or None


def _walk(data: Any, path: tuple[Any, ...], change: Any) -> Any:
    if isinstance(data, dict):
        return {name: _walk(below, (*path, name), change) for name, below in data.items()}
    if isinstance(data, list):
        return [_walk(below, (*path, number), change) for number, below in enumerate(data)]
    return change(path, data)


def _leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict):
        for name, below in data.items():
            yield from _leaves(below, (*path, name))
    elif isinstance(data, list):
        for number, below in enumerate(data):
            yield from _leaves(below, (*path, number))
    else:
        yield path, data


def _is_id(name: Any, value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    is_named_so = isinstance(name, str) and bool(_ID_NAME.search(name))
    return is_named_so or (isinstance(value, str) and bool(_ID_VALUE.fullmatch(value)))


def _is_value(name: Any, value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool) and not _is_id(name, value)


def _other_id(path: tuple[Any, ...], value: Any) -> Any:
    name = path[-1] if path else None
    if not _is_id(name, value):
        return value
    if isinstance(value, int | float):
        return value + 1
    if re.fullmatch(r"[0-9a-f-]{36}", value, re.IGNORECASE):
        return f"{value[:-1]}{'1' if value[-1] != '1' else '2'}"
    return f"{value}2"


def _only(wanted: tuple[Any, ...], other: Any) -> Any:
    return lambda path, value: other if path == wanted else value

"""A provider as data: how it signs, and where it puts what we need to know. One entry in the catalogue each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from landfast.domain.answer import Answer
from landfast.domain.body import light, moment
from landfast.domain.delivery import Head, Headers, Identity
from landfast.ports.provider import Secret, Signature
from landfast.providers.dedup import KeyRule, fields_read, key_rule, storable
from landfast.providers.locations import Pick, Read, body_paths, pick_at, read_at
from landfast.providers.outline import outline
from landfast.providers.scheme import HmacScheme

MEBIBYTE = 1024 * 1024

LONGEST_TYPE = 200
"""Characters; types have about 30, and this one is a column that operators filter by."""

FURTHEST_AHEAD = timedelta(days=1)
"""A sender's clock and time zone may be off by hours. An event from the year 9999 would outrank every later one."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A handshake: if the field `when` of the body is `equals`, the answer is the field `echo`, as plain text."""

    when: str
    equals: str
    echo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Implements the Provider port. Places are written as in `locations`, the key as in `dedup`."""

    name: str
    scheme: HmacScheme
    key: str
    type: str
    entity: str | None = None
    occurred_at: str | None = None
    challenge: Challenge | None = None
    hmac_key: str = ""
    """For the dedup rule `hmac:`; the provider's name unless one is chosen."""
    body_limit: int = MEBIBYTE
    """Events have a few kilobytes; the largest that providers document are far below a mebibyte."""

    _decode: Callable[[bytes | str], Any] = field(init=False, repr=False, compare=False)
    _read_key: KeyRule = field(init=False, repr=False, compare=False)
    _read_type: Read = field(init=False, repr=False, compare=False)
    _read_entity: Read = field(init=False, repr=False, compare=False)
    _pick_occurred_at: Pick = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A frozen dataclass computes derived fields this way; they are set once, here.
        object.__setattr__(self, "_read_key", key_rule(self.key, hmac_key=self.hmac_key or self.name))
        object.__setattr__(self, "_read_type", read_at(self.type))
        object.__setattr__(self, "_read_entity", read_at(self.entity) if self.entity else _nowhere)
        object.__setattr__(self, "_pick_occurred_at", pick_at(self.occurred_at) if self.occurred_at else _nowhere)
        object.__setattr__(self, "_decode", self._outline())

    def decode_secret(self, text: str) -> bytes:
        return self.scheme.decode_secret(text)

    def present(self, headers: Headers) -> Signature:
        return self.scheme.present(headers)

    def verify(self, signature: Signature, head: Head, body: bytes, secrets: Sequence[Secret]) -> Secret:  # noqa: ARG002 - schemes that sign the URL read the head
        return self.scheme.verify(signature, body, secrets)

    def identify(self, head: Head, body: bytes, *, received_at: datetime) -> Sequence[Identity]:
        headers = head.headers
        data = light(body, headers.text(b"content-type"), read_json=self._decode)
        type_ = _shown(self._read_type(headers, data) or "")
        entity = self._read_entity(headers, data)
        occurred_at = moment(self._pick_occurred_at(headers, data))
        if occurred_at is not None and occurred_at > received_at + FURTHEST_AHEAD:
            occurred_at = None
        return (
            Identity(
                key=self._read_key(headers, body, data, type_),
                type=type_,
                entity=None if entity is None else storable(entity),
                occurred_at=occurred_at,
            ),
        )

    def handshake(self, head: Head, body: bytes) -> Answer | None:
        challenge = self.challenge
        if challenge is None or challenge.equals.encode() not in body:  # no parse for the many that are no handshake
            return None
        data = light(body, head.headers.text(b"content-type"))
        if not isinstance(data, dict) or data.get(challenge.when) != challenge.equals:
            return None
        echo = data.get(challenge.echo)
        if not isinstance(echo, str):
            return None
        # Plain text and nosniff: what a sender chose must never run in somebody's browser.
        return Answer(200, echo.encode(), b"text/plain; charset=utf-8", ((b"x-content-type-options", b"nosniff"),))

    def _outline(self) -> Callable[[bytes | str], Any]:
        key_fields = fields_read(self.key)
        if key_fields is None:
            return msgspec.json.decode
        places = (place for place in (self.type, self.entity, self.occurred_at) if place)
        return outline([*key_fields, *(path for place in places for path in body_paths(place))])


def _shown(text: str) -> str:
    if len(text) <= LONGEST_TYPE and text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text[:LONGEST_TYPE])


def _nowhere(_headers: Headers, _data: Any) -> None:
    return None

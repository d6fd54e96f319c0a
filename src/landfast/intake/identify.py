"""Identify: which events a verified request brings, and what of it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from landfast.domain.delivery import Delivery, Head, Headers, Identity
from landfast.domain.ids import EventId
from landfast.intake.source import Source

TEXT_LIMIT = 512
"""Characters of a key, type or entity: the inbox's own limit, far above what any provider sends."""

CREDENTIALS = frozenset({b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"})
CREDENTIAL_ENDINGS = (b"-token", b"-secret", b"-password", b"-api-key", b"-apikey", b"-access-key")
"""Such as X-Gitlab-Token: a secret sent in clear. A signature is none, it proves one request only."""


def identify(source: Source, head: Head, body: bytes, *, now: datetime) -> Sequence[Identity]:
    """The events in this request, as text that every database can hold."""
    return [_storable(identity) for identity in source.provider.identify(head, body, received_at=now)]


def deliveries(
    source: Source,
    identities: Sequence[Identity],
    events: Sequence[EventId],
    *,
    head: Head,
    body: bytes,
    now: datetime,
) -> Sequence[Delivery]:
    """One delivery for each event of the request, ready to be recorded."""
    headers = kept_headers(head.headers)
    return [
        Delivery(
            source=source.name,
            key=identity.key,
            type=identity.type,
            entity=identity.entity,
            occurred_at=identity.occurred_at,
            received_at=now,
            headers=headers,
            body=body,
            event_id=event,
        )
        for identity, event in zip(identities, events, strict=True)
    ]


def kept_headers(headers: Headers) -> bytes:
    """The headers as JSON pairs in the order they came, credentials left out. Latin-1 keeps every byte apart."""
    return msgspec.json.encode(
        [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in headers.pairs
            if name not in CREDENTIALS and not name.endswith(CREDENTIAL_ENDINGS)
        ]
    )


def _storable(identity: Identity) -> Identity:
    key, kind, entity = identity.key, identity.type, identity.entity
    if _is_plain(key) and _is_plain(kind) and (entity is None or _is_plain(entity)):
        return identity
    return replace(
        identity,
        # A key is never cut or repaired: two that differ must stay different, so an unfit one becomes its digest.
        key=key if _is_plain(key) else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest(),
        type=_legible(kind),
        entity=None if entity is None else _legible(entity),
    )


def _is_plain(text: str) -> bool:
    return len(text) <= TEXT_LIMIT and "\0" not in text and (text.isascii() or text == _without_surrogates(text))


def _legible(text: str) -> str:
    return _without_surrogates(text).replace("\0", "\ufffd")[:TEXT_LIMIT]


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

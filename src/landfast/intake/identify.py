"""Identify: which events a verified request brings, and what of it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import msgspec

from landfast.domain.delivery import Delivery, Head, Identity
from landfast.domain.ids import EventId, Proof, SeenMark, event_id, full_mark, proof_mark, proof_of
from landfast.domain.reconciliation import RECONCILED
from landfast.domain.text import is_storable, storable_key, storable_name
from landfast.intake.source import Source
from landfast.ports.provider import Found, Hidden, Proven, Signature

LATE = "late"
"""Older than the dedup memory: it may have been processed and forgotten, so nobody processes it blindly. January 1970
is somebody's unit error, and still the event is as old as it says: better one look too many. Zero is no time at all."""

CREDENTIALS = frozenset({b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"})
OURS = RECONCILED.encode()
CREDENTIAL_ENDINGS = (b"-token", b"-secret", b"-password", b"-api-key", b"-apikey", b"-access-key")
"""Such as X-Gitlab-Token, or just Token: what looks like a secret is dropped, whoever reads it. What the source's own
proof is read from, its provider says."""

_json_of = msgspec.json.Encoder().encode

DIGEST_DIGITS = 32
"""Of a signature's SHA-256: enough to tell by a provider's own log which request it was, and useless for another."""


def event_of(source: Source, found: Found) -> EventId:
    return event_id(source.name, storable_key(found.key))


def proof_in(source: Source, signature: Signature, proven: Proven) -> Proof | None:
    """Of a verified request: what counts for this body only, where the proof does not bind it."""
    signed = source.provider.proof(signature, proven)
    return None if signed is None else proof_of(source.name, signed)


def marks_of(
    source: Source,
    found: Sequence[Found],
    events: Sequence[EventId],
    body: bytes,
    now: datetime,
    proof: Proof | None = None,
) -> Sequence[SeenMark]:
    """What the seen cache knows the events of a request by; as `Delivery.mark`."""
    if proof is not None:  # of a request that is one event
        return [proof_mark(event, body, proof) for event in events]
    if not source.is_strict and source.siblings is None:
        return [SeenMark(event) for event in events]
    marks = []
    for each, event in zip(found, events, strict=True):
        identity = identify(each, now=now)
        own = body if identity.body is None else identity.body
        type_ = None if source.siblings is None else identity.type
        marks.append(full_mark(event, body=own if source.is_strict else None, type_=type_))
    return marks


def identify(found: Found, *, now: datetime) -> Identity:
    """What there is to know about an event, as text that every database can hold."""
    return _storable(found.identity(now))


def deliveries(
    source: Source,
    found: Sequence[Found],
    events: Sequence[EventId],
    *,
    head: Head,
    body: bytes,
    now: datetime,
    proof: Proof | None = None,
) -> Sequence[Delivery]:
    """One delivery for each event of the request, ready to be recorded."""
    headers = kept_headers(head.headers.pairs, source.hidden_headers)
    return [
        delivery_of(source, each, event, headers, body, now, proof) for each, event in zip(found, events, strict=True)
    ]


def delivery_of(
    source: Source, found: Found, event: EventId, headers: bytes, body: bytes, now: datetime, proof: Proof | None = None
) -> Delivery:
    """Of a request with these headers, as they are kept, and this body."""
    identity = identify(found, now=now)
    return Delivery(
        source=source.name,
        key=identity.key,
        type=identity.type,
        entity=identity.entity,
        occurred_at=identity.occurred_at,
        received_at=now,
        headers=headers,
        body=body if identity.body is None else identity.body,
        event_id=event,
        hold=LATE if _is_late(identity.occurred_at, source, now) else source.hold,
        is_strict=source.is_strict,
        proof=proof,
        siblings=source.siblings,
    )


def _is_late(occurred_at: datetime | None, source: Source, now: datetime) -> bool:
    return occurred_at is not None and (now - occurred_at).total_seconds() > source.memory


def kept_headers(headers: Iterable[tuple[bytes, bytes]], hidden: Mapping[bytes, Hidden]) -> bytes:
    """The headers as JSON pairs in the order they came: credentials left out, the source's own signature as a digest.
    Latin-1 keeps every byte apart."""
    kept = [
        (_kept_name(name), value.decode("latin-1")) if name not in hidden else _of_the_proof(name, value, hidden)
        for name, value in headers
    ]
    return msgspec.json.encode([pair for pair in kept if pair[0] is not None])


def header_keeper(names: Sequence[bytes], hidden: Mapping[bytes, Hidden]) -> Callable[[Sequence[bytes]], bytes]:
    """The same where the names are known beforehand: the values, with blanks behind them maybe -> the JSON."""
    shown = [(_kept_name(name), number, hidden.get(name)) for number, name in enumerate(names)]
    kept = [each for each in shown if each[0] is not None and each[2] is not Hidden.DROPPED]
    lasts: list[bytes | None] = [None] * len(kept)
    """The value that each had in the last request: a sender changes two or three of them. They take no more room than a
    head, for each order of headers that was proven."""
    pairs = [b""] * len(kept)
    """The same as JSON, with its name."""

    def keep(values: Sequence[bytes]) -> bytes:
        for place, (name, number, hides) in enumerate(kept):
            if lasts[place] != values[number]:
                lasts[place] = value = values[number]
                bare = value.rstrip(b" \t")
                pairs[place] = _json_of((name, bare.decode("latin-1") if hides is None else _digest(bare)))
        return b"[%b]" % b",".join(pairs)

    return keep


def _of_the_proof(name: bytes, value: bytes, hidden: Mapping[bytes, Hidden]) -> tuple[str | None, str]:
    if hidden[name] is Hidden.DROPPED:
        return None, ""
    return _kept_name(name), _digest(value)


def _digest(value: bytes) -> str:
    return f"sha256:{hashlib.sha256(value).hexdigest()[:DIGEST_DIGITS]}"


@lru_cache(maxsize=1024)
def _kept_name(name: bytes) -> str | None:
    """None for a credential, and for our own mark. Senders use the same few dozen names for ever."""
    is_credential = name in CREDENTIALS or (b"-" + name).endswith(CREDENTIAL_ENDINGS)
    return None if is_credential or name == OURS else name.decode("latin-1")


def _storable(identity: Identity) -> Identity:
    key, kind, entity = identity.key, identity.type, identity.entity
    if is_storable(key) and is_storable(kind) and (entity is None or is_storable(entity)):
        return identity
    return msgspec.structs.replace(
        identity,
        key=storable_key(key),
        type=storable_name(kind),
        entity=None if entity is None else storable_name(entity),
    )

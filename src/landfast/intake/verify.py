"""Verify: who sent this, and when. Nothing is parsed, looked up or stored for a request that fails here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from landfast.domain.delivery import Head, Identity
from landfast.domain.errors import UnverifiedError
from landfast.intake.identify import identify
from landfast.intake.source import Source
from landfast.ports.provider import NO_KEYS, Greeting, Proven, Secret, Signature

TOKEN_LEEWAY_SECONDS = 1.0
"""Seconds by which a token may be used before or after its lifetime, for clocks that differ."""


class Examined(NamedTuple):
    """What a genuine request is: a handshake, or the events that it brings."""

    secret: Secret | None
    """None for a handshake that nobody signs."""
    greeting: Greeting | None
    identities: Sequence[Identity]


def examine(source: Source, head: Head, body: bytes, *, now: datetime, keys: Mapping[str, bytes] = NO_KEYS) -> Examined:
    """A whole request at once, by the same steps that intake takes one by one. Raises what they raise."""
    at = now.timestamp()
    greeting = greet(source, head, now=at) if source.provider.greets else None
    if greeting is not None:
        return Examined(None, greeting, ())
    proven = verify(source, present(source, head, now=at), head, body, now=at, keys=keys)
    greeting = source.provider.handshake(proven)
    if greeting is not None:
        return Examined(proven.secret, greeting, ())
    return Examined(proven.secret, None, [identify(found, now=now) for found in source.provider.find(proven, now)])


def greet(source: Source, head: Head, *, now: float) -> Greeting | None:
    """The answer to a handshake that nobody signs."""
    try:
        return source.provider.greet(head, source.active(now), url=source.public_url)
    except UnverifiedError as error:
        error.answer = source.refused
        raise


def present(source: Source, head: Head, *, now: float) -> Signature:
    """The signature that the head presents, if it is well formed and of our time. Needs no body, so that a stranger
    cannot make us read one."""
    try:
        signature = source.provider.present(head)
        if signature.alternatives:
            return _fresh_alternatives(signature, now, source.tolerance)
        _check_time(signature, now, source.tolerance)
    except UnverifiedError as error:
        error.answer = source.refused
        raise
    return signature


def verify(
    source: Source, signature: Signature, head: Head, body: bytes, *, now: float, keys: Mapping[str, bytes] = NO_KEYS
) -> Proven:
    """What of this request was signed, and by which secret."""
    try:
        proven = source.provider.verify(signature, head, body, source.active(now), url=source.public_url, keys=keys)
        _check_moment(source.provider.signed_at(proven), now, source.tolerance)
    except UnverifiedError as error:
        error.answer = source.refused
        raise
    return proven


def _fresh_alternatives(signature: Signature, now: float, tolerance: float) -> Signature:
    """Without those that are stale: beside a fresh one that is forged, an old one that is genuine would pass."""
    fresh = []
    reason: UnverifiedError | None = None
    for scheme, each in signature.alternatives:
        try:
            _check_time(each, now, tolerance)
        except UnverifiedError as error:
            reason = reason or error
        else:
            fresh.append((scheme, each))
    if not fresh and reason is not None:
        raise reason
    return msgspec.structs.replace(signature, alternatives=tuple(fresh))


def _check_time(signature: Signature, now: float, tolerance: float) -> None:
    _check_moment(signature.signed_at, now, tolerance)
    if signature.lifetime is not None:
        start, end = signature.lifetime
        if not start - TOKEN_LEEWAY_SECONDS <= now <= end + TOKEN_LEEWAY_SECONDS:
            raise UnverifiedError("the token is not valid yet" if now < start else "the token has expired")


def _check_moment(signed_at: float | None, now: float, tolerance: float) -> None:
    # Written so that a NaN fails it too.
    if signed_at is not None and not abs(now - signed_at) <= tolerance:
        raise UnverifiedError(f"the timestamp is {distance(signed_at, now)}")


def distance(signed_at: float, now: float) -> str:
    return f"{abs(now - signed_at):.0f} s {'before' if signed_at < now else 'after'} our clock"

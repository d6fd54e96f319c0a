"""Verify: who sent this, and when. Nothing is parsed, looked up or stored for a request that fails here."""

from __future__ import annotations

from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.ports.provider import Secret, Signature


def present(source: Source, headers: Headers, *, now: float) -> Signature:
    """The signature that the headers present, if it is well formed and of our time. Needs no body, so that a stranger
    cannot make us read one."""
    signature = source.provider.present(headers)
    # Written so that a NaN fails it too.
    if signature.signed_at is not None and not abs(now - signature.signed_at) <= source.tolerance:
        raise UnverifiedError(f"the timestamp is {now - signature.signed_at:+.0f} s away from our clock")
    return signature


def verify(source: Source, signature: Signature, head: Head, body: bytes) -> Secret:
    """The secret that signed these exact bytes."""
    return source.provider.verify(signature, head, body, source.secrets)

"""How a kind of sender signs and names what it sends. Pure: no clock, no I/O, no log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers, Identity


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A key that a sender may sign with. `name` may be logged, `key` never."""

    name: str
    key: bytes

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as presented, well formed but not yet believed."""

    digests: tuple[bytes, ...]
    """Decoded, each exactly as long as the algorithm makes them."""
    timestamp: bytes | None = None
    """The text that was signed, never a reparsed number."""
    signed_at: float | None = None
    """The same as unix seconds."""
    id: bytes | None = None
    """A message id that is part of what was signed."""


class Provider(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def body_limit(self) -> int:
        """Bytes; what this provider is known to send at most."""
        ...

    def present(self, headers: Headers) -> Signature:
        """Read the signature from the headers, before the body is. Raises UnverifiedError for a missing, empty,
        malformed, repeated, truncated, non-ASCII one, or for more of them than any sender sends."""
        ...

    def verify(self, signature: Signature, head: Head, body: bytes, secrets: Sequence[Secret]) -> Secret:
        """The secret that matches. Every secret is tried against every digest in constant time, with no early exit.
        Raises UnverifiedError when none does."""
        ...

    def identify(self, head: Head, body: bytes, *, received_at: datetime) -> Sequence[Identity]:
        """The events in a verified request; one, for most. Never raises: a body that cannot be parsed is identified
        by its digest, with an empty type, and becomes a dead letter later."""
        ...

    def handshake(self, head: Head, body: bytes) -> Answer | None:
        """The exact answer to a verified request that is a provider's handshake and no event."""
        ...

"""How a kind of sender signs and names what it sends. Pure: no clock, no I/O, no log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Identity
from landfast.domain.errors import LandfastError

NO_KEYS: Mapping[str, bytes] = MappingProxyType({})


class PublicKey(bytes):
    """A key that everybody may know, as DER. A type of its own, so that it can never be the key of an HMAC: anybody
    could sign with that."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A key that a sender may sign with. `name` may be logged, `key` never."""

    name: str
    key: bytes
    active_from: float = -math.inf
    retired_at: float = math.inf
    """Unix seconds: it counts from the one until the other, so that two may overlap while a sender changes over."""

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"


class Signature(msgspec.Struct, frozen=True, gc=False):
    """A signature as presented, well formed but not yet believed."""

    digests: tuple[bytes, ...] = ()
    """Decoded, each exactly as long as the algorithm makes them; empty where they stand in the body."""
    timestamp: bytes | None = None
    """The text that was signed, never a reparsed number."""
    signed_at: float | None = None
    """The same as unix seconds."""
    id: bytes | None = None
    """A message id that is part of what was signed."""
    lifetime: tuple[float, float] | None = None
    """The unix seconds between which the sender says that it counts."""
    detail: Any = None
    """What only the scheme that presented it reads."""
    alternatives: tuple[tuple[Any, Signature], ...] = ()
    """Where a sender has several ways to sign: each one that is here, with its scheme. Each has its own time, and one
    that is not of our time must not be verified: a forger may put a fresh one beside it."""


class Hidden(Enum):
    """What of a header must not be stored, because whoever reads it could use it."""

    DROPPED = "dropped"
    """A token: the secret itself, in clear."""
    DIGESTED = "digested"
    """A signature: not every provider's binds all of its request, so it may be good for another one."""


class Proven(msgspec.Struct, frozen=True, gc=False):
    """A request whose signature was right, as it was read to find that out. Time, type, key, entity and items are read
    from this and from nothing else: whoever reads a request a second time may read something that nobody signed."""

    secret: Secret
    """The one that signed it."""
    signature: Signature
    """The one that was right; of several, its id and its time are the signed ones."""
    request: Any
    """Head and body, with the data, form and items that verification had to read. Only the provider looks into it."""


class Greeting(NamedTuple):
    """What a handshake comes to."""

    answer: Answer
    visit: str | None = None
    """An address, checked against those that the provider uses, that somebody must open before any event comes."""


class KeyNeeded(LandfastError):  # noqa: N818 - a request to the caller, not an error
    """The signature names a key of the provider's that must be fetched first; then verify again, with it in `keys`.
    The address was checked against those that the provider is known to use."""

    def __init__(
        self,
        url: str,
        *,
        post: bytes | None = None,
        certificate_for: str | None = None,
        is_outdated: bool = False,
        is_fixed: bool = False,
    ) -> None:
        super().__init__(f"the key at {url} is needed")
        self.url = url
        self.post = post
        """What to send for it; None asks with a GET."""
        self.certificate_for = certificate_for
        """The name that the certificate there must be for, chained to a root that this machine trusts."""
        self.is_outdated = is_outdated
        """What `keys` has for the address does not hold the key: it may be new."""
        self.is_fixed = is_fixed
        """The provider keeps all its keys there: no request can name another address."""


class Believed(NamedTuple):
    """What an ordinary request brings, and the secret that signed it."""

    secret: Secret
    found: Found


ReadOrdinary = Callable[[Sequence[bytes], bytes, datetime, float], Believed | None]
"""The values of a request's headers, its body and the time, twice: what it brings, if all of it is as usual and its
signature is right. None is no refusal: `present`, `verify`, `handshake` and `find` have to look at that request."""

Shaped = Callable[[Sequence[bytes]], ReadOrdinary | None]
"""The names of a request's headers, in small letters and none of them twice: what reads their values."""


class Found(Protocol):
    """An event in a request. Of a duplicate, nothing but its key is ever read."""

    @property
    def key(self) -> str: ...

    def identity(self, received_at: datetime) -> Identity: ...


class Provider(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def body_limit(self) -> int:
        """Bytes; what this provider is known to send at most."""
        ...

    @property
    def tolerance(self) -> float:
        """Seconds that a signed time may be away from our clock; infinite where the sender's own retries are signed
        with the time of the first."""
        ...

    @property
    def refusal(self) -> int:
        """The status that makes this sender come again, or give up, when its signature is refused."""
        ...

    @property
    def thanks(self) -> Answer | None:
        """The answer to what was stored, now or before, for a sender that reads it; None for all others."""
        ...

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        """The headers, in small letters, that the proof is read from."""
        ...

    def takes(self, method: str) -> bool:
        """Whether requests with this method are events or handshakes of this provider."""
        ...

    @property
    def greets(self) -> bool:
        """Whether there are handshakes that this provider sends unsigned."""
        ...

    def greet(self, head: Head, secrets: Sequence[Secret], *, url: str = "") -> Greeting | None:
        """The exact answer to a handshake that this provider sends unsigned; None for every other request. Raises
        UnverifiedError when it carries a wrong token."""
        ...

    def present(self, head: Head) -> Signature:
        """Read the signature from the head, before the body is. Raises UnverifiedError for a missing, empty,
        malformed, repeated, truncated, non-ASCII one, or for more of them than any sender sends."""
        ...

    def verify(
        self,
        signature: Signature,
        head: Head,
        body: bytes,
        secrets: Sequence[Secret],
        *,
        url: str = "",
        keys: Mapping[str, bytes] = NO_KEYS,
    ) -> Proven:
        """What was proven, and by which secret. Every secret is tried against every digest in constant time, with no
        early exit. `url` is the public one, with the query that the sender was given; `keys` are fetched ones, by
        address. Raises UnverifiedError when none matches, and KeyNeeded when a key is missing."""
        ...

    @property
    def fixed_keys(self) -> str | None:
        """The one address of its keys, where no request can name another: it can be fetched before any comes."""
        ...

    @property
    def signs_once(self) -> bool:
        """Whether some of its proofs do not bind the body, and are another for each request."""
        ...

    def ordinary(self, secrets: Sequence[Secret], *, tolerance: float) -> Shaped | None:
        """What reads POSTs of the usual form, without a query, much faster; None where there is none. It comes to what
        the others come to, step by step, or to nothing."""
        ...

    def proof(self, signature: Signature, proven: Proven) -> bytes | None:
        """Of a request that was verified by this signature, what was signed: the same bytes for the same proof. None
        where it binds the body."""
        ...

    def signed_at(self, proven: Proven) -> float | None:
        """The signed time that stands in a verified body, as unix seconds; None where the head has it, or nothing."""
        ...

    def handshake(self, proven: Proven) -> Greeting | None:
        """The exact answer to a verified request that is a provider's handshake and no event."""
        ...

    def find(self, proven: Proven, received_at: datetime) -> Sequence[Found]:
        """The events in a verified request, in its order; one, for most, and none in an empty batch. Never raises: a
        body that cannot be parsed is identified by its digest, with an empty type, and becomes a dead letter later."""
        ...

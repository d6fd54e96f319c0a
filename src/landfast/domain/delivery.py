"""What arrives: one HTTP request exactly as it came, and what a provider reads from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from landfast.domain.ids import EventId, Proof, SeenMark, event_id, full_mark, proof_mark

_NONE: frozenset[bytes] = frozenset()


HEADER_OVERHEAD = 200
"""Bytes that Python takes to keep a pair of short texts. A hundred short headers take more by it than by their text."""


class Headers:
    """The headers of one request: names in lower case, values as bytes, order and repeats kept."""

    __slots__ = ("_repeated", "get", "pairs")

    get: Callable[[bytes], bytes | None]
    """The first value of a name in lower case: a dictionary's own method, as every request asks a dozen times."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.pairs = [(name.lower(), value) for name, value in pairs]
        self._repeated = _NONE
        first = dict(self.pairs)
        if len(first) < len(self.pairs):
            first = dict(reversed(self.pairs))
            counted = Counter(name for name, _ in self.pairs)
            self._repeated = frozenset(name for name, times in counted.items() if times > 1)
        self.get = first.get

    def text(self, name: bytes) -> str | None:
        """A header as text; bytes outside ASCII become U+FFFD, because no name or id of ours needs them."""
        value = self.get(name)
        return None if value is None else value.decode("ascii", "replace")

    def is_repeated(self, name: bytes) -> bool:
        return name in self._repeated

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self.pairs == other.pairs

    def __hash__(self) -> int:
        return hash(tuple(self.pairs))

    def __repr__(self) -> str:
        return f"Headers({len(self.pairs)} of them)"  # values may hold credentials: never in a log


# Structs, because each request makes several of them: a frozen dataclass takes ten times as long to make.
class Head(msgspec.Struct, frozen=True):
    """A request before its body was read: enough to refuse it cheaply."""

    method: str
    path: str
    query: str = ""
    headers: Headers = msgspec.field(default_factory=Headers)
    content_length: int | None = None
    peer: str = ""
    """The address at the other end of the connection: the sender's, or a proxy's. Empty if it has none."""
    is_secure: bool = False
    """Whether that connection is encrypted."""
    is_old: bool = False
    """Whether it is of HTTP/1.0: in which nginx asks unless it is told otherwise, and hardly anybody else."""

    @property
    def footprint(self) -> int:
        """Bytes of memory that it takes, about."""
        texts = sum([len(name) + len(value) for name, value in self.headers.pairs])
        return texts + HEADER_OVERHEAD * len(self.headers.pairs) + len(self.path) + len(self.query)


class Identity(msgspec.Struct, frozen=True):
    """What a provider reads from a verified request about one event in it."""

    key: str
    type: str
    entity: str | None = None
    occurred_at: datetime | None = None
    body: bytes | None = None
    """Where the request brings many events: this one's exact bytes in it. None for all of them."""


Siblings = tuple[float, float]
"""Where the type of an event is not signed: the seconds after its first arrival, from and until, in which the same
event under another type is its sibling, an event of its own. At any other time it is held."""

NO_SIBLINGS: Siblings = (0.0, 0.0)
ALWAYS_SIBLINGS: Siblings = (0.0, math.inf)


def siblings_in_words(siblings: Siblings) -> str:
    """What becomes of a known event under another type."""
    start, end = siblings
    if start >= end:
        return "held"
    if siblings == ALWAYS_SIBLINGS:
        return "an event of its own"
    if end == math.inf:
        return f"held for {start / 60:g} min after its first arrival, and then an event of its own"
    return f"an event of its own for {end / 3600:g} h after its first arrival, and then held"


class Difference(NamedTuple):
    """How a delivery differs from the one that its event is stored by."""

    body: bool
    type: bool
    first_at: datetime
    """When that one was received."""


class Delivery(msgspec.Struct, frozen=True):
    """One event as it came in, ready to be recorded. Body and headers are the exact bytes."""

    source: str
    key: str
    type: str
    entity: str | None
    occurred_at: datetime | None
    received_at: datetime
    headers: bytes
    """The headers as JSON pairs, credentials left out; see `intake.identify`."""
    body: bytes
    event_id: EventId
    hold: str = ""
    """Why it waits for an operator instead of being processed; empty for nearly all."""
    is_strict: bool = False
    """Whether a known key with another body is another event, to be held, and no duplicate."""
    proof: Proof | None = None
    """What proved the sender, where that does not bind the body: it counts for the first body that it comes with."""
    siblings: Siblings | None = None
    """When the same key under another type is another event; None where the type is signed, and it is a duplicate."""

    @property
    def mark(self) -> SeenMark:
        """What the seen cache remembers it by: of a strict source another body is unknown to it, and where types are
        not signed another type; and so is another proof, which the inbox must see once to know whose it is."""
        if self.proof is not None:
            return proof_mark(self.event_id, self.body, self.proof)
        if not self.is_strict and self.siblings is None:
            return SeenMark(self.event_id)
        return full_mark(
            self.event_id,
            body=self.body if self.is_strict else None,
            type_=None if self.siblings is None else self.type,
        )

    @classmethod
    def of(cls, source: str, identity: Identity, *, received_at: datetime, headers: bytes, body: bytes) -> Delivery:
        return cls(
            source=source,
            key=identity.key,
            type=identity.type,
            entity=identity.entity,
            occurred_at=identity.occurred_at,
            received_at=received_at,
            headers=headers,
            body=body,
            event_id=event_id(source, identity.key),
        )


class Recorded(msgspec.Struct, frozen=True):
    """The inbox's answer for one delivery: durable now; new, or known before."""

    event_id: EventId
    is_new: bool
    in_inbox: bool = True
    """False where it is durable, but in a spool or journal that the inbox does not know of yet."""
    is_disproven: bool = False
    """Its proof was another body's before: nothing was stored, and nothing may be acknowledged yet."""
    known_by: str = "inbox"
    """The layer that knew it, where it is not new: memory, shared or inbox."""


def requests(deliveries: Iterable[Delivery]) -> list[list[Delivery]]:
    """Those of one request together, in the order in which the first of each came. They share the time that it was
    received at and its headers; two requests that share both are copies of one, or as good as that for counting."""
    found: dict[tuple[datetime, str, bytes], list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault((delivery.received_at, delivery.source, delivery.headers), []).append(delivery)
    return list(found.values())

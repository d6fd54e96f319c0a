"""What arrives: one HTTP request exactly as it came, and what a provider reads from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from landfast.domain.ids import EventId, event_id


class Headers:
    """The headers of one request: names in lower case, values as bytes, order and repeats kept."""

    __slots__ = ("_first", "_repeated", "pairs")

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.pairs = tuple([(name.lower(), value) for name, value in pairs])
        self._first = dict(self.pairs)
        self._repeated: set[bytes] = set()
        if len(self._first) < len(self.pairs):
            self._first = {}
            for name, value in self.pairs:
                if name in self._first:
                    self._repeated.add(name)
                else:
                    self._first[name] = value

    def get(self, name: bytes) -> bytes | None:
        return self._first.get(name)

    def text(self, name: bytes) -> str | None:
        """A header as text; bytes outside ASCII become U+FFFD, because no name or id of ours needs them."""
        value = self._first.get(name)
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
        return hash(self.pairs)

    def __repr__(self) -> str:
        return f"Headers({len(self.pairs)} of them)"  # values may hold credentials: never in a log


@dataclass(frozen=True, slots=True)
class Head:
    """A request before its body was read: enough to refuse it cheaply."""

    method: str
    path: str
    query: str = ""
    headers: Headers = field(default_factory=Headers)
    content_length: int | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """What a provider reads from a verified request about one event in it."""

    key: str
    type: str
    entity: str | None = None
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """The inbox's answer for one delivery: durable now; new, or known before."""

    event_id: EventId
    is_new: bool

"""What must be true of a crash image, decided from what the harness saw and what the databases hold. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

DONE = "done"


class Kind(StrEnum):
    LOST = "lost"
    """Acknowledged before the cut, and not stored (I1)."""
    ALTERED = "altered"
    """Stored with other bytes than were sent (I1)."""
    INVENTED = "invented"
    """Stored or ordered, and never sent."""
    DOUBLED = "doubled"
    """Stored twice, or ordered twice (I2)."""
    UNPROVEN = "unproven"
    """Done, and its order is not there; or orders and receipts differ in number (I4)."""
    STUCK = "stuck"
    """Stored, and not done when everything was given time to be (I3)."""
    BROKEN = "broken"
    """The database itself could not be read or started."""


class Finding(NamedTuple):
    kind: Kind
    what: str


class Stored(NamedTuple):
    key: str
    digest: bytes
    """SHA-256 of the body."""
    state: str


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that the two databases hold, read with SQL of our own."""

    stored: Sequence[Stored]
    orders: Sequence[str]
    """The key of each row that the handler wrote."""
    receipts: int


@dataclass(frozen=True, slots=True)
class Cut:
    """What the sender knew at the instant of the cut."""

    sent: Mapping[str, bytes]
    """The SHA-256 of each body whose sending had begun when the last copy was made."""
    acknowledged: Collection[str] = field(default_factory=frozenset)
    """Answered with 200 before the copy of the inbox began."""
    ledger_is_older: bool = False
    """The ledger's copy was made first: done events may lack their receipts until `recover ledger`."""

    @property
    def unanswered(self) -> list[str]:
        """What the sender will send again."""
        return [key for key in self.sent if key not in self.acknowledged]


def after_the_cut(cut: Cut, books: Books) -> list[Finding]:
    """Before anything runs: what was acknowledged is there, and what is done was written."""
    found = [*_lost(cut.acknowledged, books), *_foreign(cut, books), *_doubled(books)]
    if not cut.ledger_is_older:
        found += _unproven(books)
    return found


def after_the_drain(cut: Cut, books: Books) -> list[Finding]:
    """When the sender has sent again what was not answered, and everything was processed: each event once."""
    found = [*_lost(cut.sent, books), *_foreign(cut, books), *_doubled(books), *_unproven(books)]
    return found + [Finding(Kind.STUCK, f"{key} is {state}") for key, state in _states(books).items() if state != DONE]


def without_order(books: Books) -> list[str]:
    """Done events whose order is not there."""
    ordered = set(books.orders)
    return [key for key, state in _states(books).items() if state == DONE and key not in ordered]


def _lost(keys: Iterable[str], books: Books) -> Iterator[Finding]:
    there = _states(books)
    return (Finding(Kind.LOST, key) for key in keys if key not in there)


def _foreign(cut: Cut, books: Books) -> Iterator[Finding]:
    for key, digest, _ in books.stored:
        if key not in cut.sent:
            yield Finding(Kind.INVENTED, f"{key} is stored")
        elif digest != cut.sent[key]:
            yield Finding(Kind.ALTERED, key)
    yield from (Finding(Kind.INVENTED, f"{key} is ordered") for key in books.orders if key not in cut.sent)


def _doubled(books: Books) -> Iterator[Finding]:
    for verb, keys in (("stored", [event.key for event in books.stored]), ("ordered", books.orders)):
        for key, times in Counter(keys).items():
            if times > 1:
                yield Finding(Kind.DOUBLED, f"{key} is {verb} {times} times")


def _unproven(books: Books) -> Iterator[Finding]:
    yield from (Finding(Kind.UNPROVEN, f"{key} is done without its order") for key in without_order(books))
    if books.receipts != len(books.orders):
        yield Finding(Kind.UNPROVEN, f"{books.receipts} receipts and {len(books.orders)} orders")


def _states(books: Books) -> dict[str, str]:
    return {event.key: event.state for event in books.stored}

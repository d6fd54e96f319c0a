"""What an audit goes by: the lines that made events done, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from landfast.domain.ids import EventId, HandlerName
from landfast.domain.outcome import NO_WRITES, SUPERSEDED, Attempt


class Mark(NamedTuple):
    """Every line of history up to `seq` was proven. The inbox and the ledger keep the same marks: one that only one of
    them knows was made before the other was restored."""

    seq: int
    nonce: bytes
    """8 random bytes: two audits that came equally far are still two."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An event that is done, and the line of history that made it so."""

    seq: int
    event_id: EventId
    source: str
    key: str
    run: int
    handlers: tuple[HandlerName, ...] | None
    """Those that made it done. None where nobody knows: any that has its receipt will do then."""
    forced: bool = False
    """A forced replay made it so: its handlers ran again, and left a receipt in that run."""


def finished_by(attempts: Iterable[Attempt]) -> tuple[HandlerName, ...] | None:
    """The handlers of a line that names none, as earlier versions wrote it: each ran, or was found done, in the claim
    that finished the event."""
    return (
        tuple(HandlerName(one.handler) for one in attempts if one.outcome in {"done", NO_WRITES, SUPERSEDED, "skipped"})
        or None
    )


def names_in(text: str) -> tuple[HandlerName, ...]:
    """Names of handlers, one a line."""
    return tuple(HandlerName(name) for name in text.split("\n") if name)

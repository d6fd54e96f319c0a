"""The nouns of processing: one event for one handler, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from landfast.domain.arrival import Arrived
from landfast.domain.event import Event
from landfast.domain.fault import Fault
from landfast.domain.lane import place_of
from landfast.domain.lane_memory import LaneMark
from landfast.domain.machine import Step
from landfast.domain.outcome import Claim, ReceiptKey, Settlement
from landfast.processing.handlers.registry import Handler


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One event for one handler: what a receipt is about. Compared by identity: it stands for one moment's work."""

    claim: Claim
    event: Event
    handler: Handler
    receipt: ReceiptKey
    mark: LaneMark | None = None
    """How far its handler is in its lane once it has run, where it is an ordered one."""
    newest: LaneMark | None = None
    """The mark that must not be beyond it, where its handler is for the newest only."""
    step: Step | None = None
    """What it means to its entity, where its handler has a lifecycle."""
    arrival: Arrived | None = None
    """What others may wait for, once its handler has committed."""

    @property
    def order(self) -> tuple[str, bytes, bytes]:
        """Handlers of a group run in this order in every worker: by entity, so that two groups lock rows alike; and
        within an entity as its lane has them, so that each makes the next one legal. Where only the newest counts it
        comes first, and the others are superseded."""
        if self.handler.ordered or (self.newest is None and self.step is None):
            return (self.claim.entity or "", self.claim.place or b"", self.receipt.digest)
        if self.newest is not None:
            newest_first = bytes(255 - byte for byte in self.newest.place)
            return (self.claim.entity or "", newest_first, self.receipt.digest)
        entity = "" if self.step is None else self.step.key.lane.hex()
        return (entity, place_of(self.claim.occurred_at, self.claim.received_at), self.receipt.digest)


@dataclass(frozen=True, slots=True)
class Done:
    """A `done` receipt is committed, by us now or by somebody before."""

    seconds: float = 0.0
    ran: bool = True
    late: bool = False
    """A later event of its lane was processed before it."""
    wrote: bool = True
    """False where the handler never used its transaction, and was meant to."""
    is_superseded: bool = False
    """A newer event of its entity is done: the handler was not run."""
    has_moved: bool = False
    """Its entity may have another state since: what is parked for it is stirred."""


@dataclass(frozen=True, slots=True)
class Buried:
    """A tombstone is committed: this handler will never run for this event and run."""

    note: bytes = b"{}"


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler ran alone, raised, and left nothing behind. `processing.judge` decides what follows."""

    error: BaseException
    fault: Fault
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """The handler was not run, and never will be: only its tombstone is missing."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Deferred:
    """Nothing was decided, and nothing is held against the event: look again after some seconds."""

    why: str
    after: float
    message: str = ""
    is_away: bool = False
    """What the handler needs is away: an event does not wait for that for ever."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The handler is switched off, by an operator or by its breaker. Nothing is held against the event."""

    reason: str
    """The switch's: by it the event is found when the switch is released."""
    message: str = ""
    is_away: bool = False
    """What the handler needs is away: an event does not wait for that for ever."""


@dataclass(frozen=True, slots=True)
class Behind:
    """An earlier event of its lane is not passed yet: the handler waits, and nothing is held against the event."""


BEHIND = Behind()


@dataclass(frozen=True, slots=True)
class Superseded:
    """A newer event of its entity is done: its receipt is committed without its handler."""


@dataclass(frozen=True, slots=True)
class Parked:
    """Its lifecycle does not allow it now, and nothing is held against it."""

    step: Step
    seen: str | None
    """The state that its entity was in."""
    due_in: float
    message: str
    since: datetime


Result = Done | Buried | Failed | Spent | Deferred | Paused | Behind | Parked


@dataclass(slots=True)
class ClaimedEvent:
    """One claimed event: what is to run, and what came of it."""

    claim: Claim
    works: list[Work] = field(default_factory=list)
    results: dict[Work, Result] = field(default_factory=dict)
    settlement: Settlement | None = None
    """Decided without running anything."""
    ordered: Sequence[Handler] = ()
    """All handlers that take it in its order, whether they run in this claim or not."""
    is_let_go: bool = False
    """It is this hand's no longer: it is being settled."""

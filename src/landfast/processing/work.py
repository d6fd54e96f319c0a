"""The nouns of processing: one event for one handler, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from landfast.domain.event import Event
from landfast.domain.fault import Fault
from landfast.domain.outcome import Claim, ReceiptKey, Settlement
from landfast.processing.handlers.registry import Handler


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One event for one handler: what a receipt is about. Compared by identity: it stands for one moment's work."""

    claim: Claim
    event: Event
    handler: Handler
    receipt: ReceiptKey

    @property
    def order(self) -> tuple[str, bytes]:
        """Handlers of a group run in this order in every worker: by entity, so that two groups lock rows alike."""
        return (self.claim.entity or "", self.receipt.digest)


@dataclass(frozen=True, slots=True)
class Done:
    """A `done` receipt is committed, by us now or by somebody before."""

    seconds: float = 0.0
    ran: bool = True


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


@dataclass(frozen=True, slots=True)
class Paused:
    """The handler is switched off, by an operator or by its breaker. Nothing is held against the event."""

    reason: str
    """The switch's: by it the event is found when the switch is released."""
    message: str = ""


Result = Done | Buried | Failed | Spent | Deferred | Paused


@dataclass(slots=True)
class ClaimedEvent:
    """One claimed event: what is to run, and what came of it."""

    claim: Claim
    works: list[Work] = field(default_factory=list)
    results: dict[Work, Result] = field(default_factory=dict)
    settlement: Settlement | None = None
    """Decided without running anything."""
    is_let_go: bool = False
    """It is this hand's no longer: it is being settled."""

"""The nouns of `conclude`: what is known of one event, and the reasons for which it waits or is dead."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from landfast.domain.ids import HandlerName, ReceiptDigest
from landfast.domain.outcome import Attempt, Claim, Outcome, Tries
from landfast.processing.handlers.error_text import MESSAGE_CHARACTERS
from landfast.processing.work import Work


@dataclass(slots=True)
class Reason:
    """Why an event waits, or why one of its handlers will never run for it."""

    reason: str = ""
    error: str = ""
    message: str = ""

    @classmethod
    def read(cls, note: bytes) -> Reason:
        """As a tombstone says it."""
        try:
            return msgspec.json.decode(note, type=cls)
        except msgspec.MsgspecError:  # written by somebody else, or by another version
            return cls("tombstone", message=note.decode("utf-8", "replace")[:MESSAGE_CHARACTERS])

    def note(self) -> bytes:
        return msgspec.json.encode({"reason": self.reason, "error": self.error, "message": self.message})


@dataclass(slots=True)
class Findings:
    """What is known of one event, filled in handler by handler."""

    claim: Claim
    tries: dict[HandlerName, Tries]
    digest: ReceiptDigest | None = None
    attempts: list[Attempt] = field(default_factory=list)
    burials: dict[Work, Reason] = field(default_factory=dict)
    """Tombstones that are to be committed."""
    tombstones: list[tuple[str, Reason]] = field(default_factory=list)
    """Those that are committed, with their handlers."""
    pauses: list[Reason] = field(default_factory=list)
    """Handlers that are switched off, each with its switch."""
    delays: list[float] = field(default_factory=list)
    counted: bool = False
    """At least one of the delays follows a counted attempt."""
    why: Reason | None = None
    """Why it waits, for operators who look at it meanwhile."""

    @property
    def is_over(self) -> bool:
        return not self.delays and not self.pauses

    @property
    def done(self) -> tuple[HandlerName, ...]:
        return tuple([name for name, tries in self.tries.items() if tries.came_to is Outcome.DONE])

    @property
    def buried(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.tombstones)

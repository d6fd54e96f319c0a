"""The nouns of `conclude`: what is known of one event, and the reasons for which it waits or is dead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from landfast.domain.ids import HandlerName, ReceiptDigest, is_step
from landfast.domain.outcome import Attempt, Claim, Outcome, Receipt, Tries, alone
from landfast.processing.handlers.error_text import MESSAGE_CHARACTERS
from landfast.processing.work import Deferred, Parked, Paused, Work

_TRIED_AND_DONE = Tries(came_to=Outcome.DONE)
# Made once, because nearly every event comes to it.


@dataclass(slots=True)
class Reason:
    """Why an event waits, or why one of its handlers will never run for it."""

    reason: str = ""
    error: str = ""
    message: str = ""
    handler: str = ""
    """Whose failure it is, where it is one's."""
    line: str = ""
    """Of the user's code in which it failed."""

    @classmethod
    def read(cls, note: bytes) -> Reason:
        """As a tombstone says it."""
        try:
            return msgspec.json.decode(note, type=cls)
        except msgspec.MsgspecError:  # written by somebody else, or by another version
            return cls("tombstone", message=note.decode("utf-8", "replace")[:MESSAGE_CHARACTERS])

    def note(self) -> bytes:
        return msgspec.json.encode(
            {"reason": self.reason, "error": self.error, "message": self.message, "line": self.line}
        )


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
    parks: list[Parked] = field(default_factory=list)
    """Of handlers whose lifecycles do not allow it yet."""
    parked: list[HandlerName] = field(default_factory=list)
    """Those handlers."""
    stirs: list[str] = field(default_factory=list)
    """What others may be parked for, and has changed."""
    delays: list[float] = field(default_factory=list)
    counted: bool = False
    """At least one of the delays follows a counted attempt."""
    is_behind: bool = False
    """An ordered handler waits for an earlier event of its lane."""
    is_unwritten: bool = False
    """A handler is done that never used its transaction, and was meant to."""
    is_superseded: bool = False
    """A handler is done that was not run, because a newer event is done."""
    why: Reason | None = None
    """Why it waits, for operators who look at it meanwhile."""
    elsewhere: dict[HandlerName, Reason] = field(default_factory=dict)
    """Tombstones of earlier runs, of handlers that a replay of another one alone does not run."""

    def came_to(self, name: HandlerName, outcome: Outcome) -> None:
        before = self.tries.get(name)
        if before is not None and before.is_alone:
            self.tries[name] = Tries(came_to=outcome, is_alone=True)
        else:
            self.tries[name] = _TRIED_AND_DONE if outcome is Outcome.DONE else Tries(came_to=outcome)

    def waits(self, name: HandlerName, why: Deferred | Paused, *, now: datetime) -> None:
        """If something is away that this handler needs, from when on: only the first time is kept."""
        before = self.tries.get(name, Tries())
        if why.is_away and before.away is None:
            self.tries[name] = replace(before, away=now)

    def note(self, receipt: Receipt) -> None:
        """One that the ledger has for this event."""
        _, name, run = receipt.key
        if is_step(name):  # it was staged by a handler, whose receipt says enough
            return
        if receipt.outcome is Outcome.DEAD:
            reason = Reason.read(receipt.result or b"{}")
            if run == self.claim.run and name not in self.buried:
                self.tombstones.append((name, reason))
            elif run < self.claim.run and alone(self.claim.tries) not in {None, name}:
                self.elsewhere[name] = reason
        elif run <= self.claim.run:
            self.came_to(name, Outcome.DONE)

    def look_at_others(self) -> None:
        """After a replay of one handler alone, what the others came to before stands: done stays done, dead dead."""
        self.tombstones += [(name, reason) for name, reason in self.elsewhere.items() if name not in self.done]

    @property
    def is_over(self) -> bool:
        return not self.delays and not self.pauses and not self.parks and not self.is_behind

    @property
    def waits_twice(self) -> bool:
        """One handler waits for a switch or a lifecycle, and another for something else. Whoever ends one of the two
        does not look for the other: so it is looked at again and again. One that is behind waits for its lane all the
        same."""
        waits = bool(self.delays) + bool(self.pauses) + len(self.parks) + (self.is_behind and bool(self.parks))
        return waits > 1

    @property
    def done(self) -> tuple[HandlerName, ...]:
        return tuple([name for name, tries in self.tries.items() if tries.came_to is Outcome.DONE])

    @property
    def buried(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.tombstones)

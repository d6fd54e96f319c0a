"""What attempts came to, and what the inbox is told about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from landfast.domain.holding import LET_PASS
from landfast.domain.ids import EventId, HandlerName, ReceiptDigest, Token
from landfast.domain.lane import Front, Lane, LanePlace
from landfast.domain.lifecycle import LEADS_TO, PLACES, Place, Signal
from landfast.domain.text import storable

if TYPE_CHECKING:
    from landfast.domain.lane_memory import StateKey


class Outcome(StrEnum):
    """What a receipt in the ledger says. No receipt says nothing at all."""

    DONE = "done"
    DEAD = "dead"
    """A tombstone: this handler will never run for this event and run."""


class ReceiptKey(NamedTuple):
    """A tuple, because it is looked up ten times for each event."""

    digest: ReceiptDigest
    handler: HandlerName
    run: int


@dataclass(frozen=True, slots=True)
class Receipt:
    key: ReceiptKey
    outcome: Outcome
    result: bytes | None = None
    """The handler's return value as JSON, if it returned one; for a tombstone, the reason."""


@dataclass(frozen=True, slots=True)
class Tries:
    """One handler's counted attempts at one event in one run."""

    count: int = 0
    spent: float = 0.0
    """Seconds of running and backing off. Breaker, pause and outage time is not in it, nor what a RetryLater asks for
    beyond the backoff's own wait."""
    due: datetime | None = None
    """When its next attempt may start: another handler of the same event may be due sooner."""
    attempts: int | None = None
    """The handler's cap when this was counted, if it had one. Who looks at the event may not have the application."""
    total: float = 0.0
    """Seconds that the handler gave it when this was counted."""
    trace: str = ""
    """A digest of the last stack trace: one that repeats itself is written down once."""
    came_to: Outcome | None = None
    """What its receipt says, where it has one and the event goes on for another handler's sake. The fact stays with the
    event until a replay, because this handler may be gone from the code by then."""
    is_alone: bool = False
    """This run is a replay of this handler alone: no other runs in it."""
    parked: datetime | None = None
    """Since when its lifecycle keeps it from running."""
    away: datetime | None = None
    """When it first had to wait, in this run, because something that it needs was away."""


def alone(tries: Mapping[HandlerName, Tries]) -> HandlerName | None:
    """The handler that this run is a replay of, if it is of one alone."""
    return next((name for name, made in tries.items() if made.is_alone), None)


class NextRun(NamedTuple):
    """How a replay starts a run."""

    forced: bool = False
    """Handlers that are done run again, too."""
    only: HandlerName | None = None
    """The one that runs, where it is one alone."""

    @property
    def tries(self) -> Mapping[HandlerName, Tries]:
        """That it begins with."""
        return NO_TRIES if self.only is None else {self.only: Tries(is_alone=True)}

    @property
    def reason(self) -> str:
        """In its line of history."""
        return ", ".join(["forced"] * self.forced + ([] if self.only is None else [f"only {self.only}"]))


NO_TRIES: Mapping[HandlerName, Tries] = MappingProxyType({})


SAME_TRACE = "(the same trace as the attempt before)"
"""Instead of one: an event that fails for three days has some 140 attempts, and traces are nine tenths of each."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One line of history: a run of one handler, or a reason why none ran."""

    handler: str
    number: int
    outcome: str
    """done, no_writes, superseded, skipped, retry, postpone, dead."""
    milliseconds: float = 0.0
    error: str = ""
    message: str = ""
    trace: str = ""
    is_late: bool = False
    """A later event of its lane was processed before it."""

    def storable(self) -> Attempt:
        return replace(
            self,
            handler=storable(self.handler),
            error=storable(self.error),
            message=storable(self.message),
            trace=storable(self.trace),
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """An event leased to us: everything that processing it needs, in one read."""

    event_id: EventId
    run: int
    token: Token
    forced: bool
    suspect: bool
    """An earlier claim expired: run it alone."""
    crashes: int
    """How often it expired while it ran alone."""
    tries: Mapping[HandlerName, Tries]
    source: str
    key: str
    type: str
    entity: str | None
    occurred_at: datetime | None
    received_at: datetime
    headers: bytes
    body: bytes
    place: LanePlace | None = None
    """In its lane. None of an event that was recorded before it had one, and whose source is not ordered."""
    holds: bool = False
    """Its lane waits for it, and it waits for its lane. Not so of a replay that its lane has passed before."""
    is_behind: bool = False
    """An earlier event of its lane is not passed, and is not ours: ordered handlers do not run now."""

    @property
    def lane(self) -> Lane | None:
        return (self.source, self.entity) if self.holds and self.entity is not None else None


def looked_at_again(claims: Sequence[Claim], fronts: Mapping[Lane, Front]) -> Sequence[Claim]:
    """The same claims, and which of them are behind by the fronts that their lanes have now."""
    return [
        replace(claim, is_behind=fronts[claim.lane].has_before(claim.place))
        if claim.lane is not None and claim.place is not None
        else claim
        for claim in claims
    ]


@dataclass(frozen=True, slots=True)
class Settlement:
    """What one claim came to: a signal for the lifecycle, and the history line that goes with it."""

    event_id: EventId
    run: int
    token: Token
    signal: Signal
    due_in: float = 0.0
    """Seconds until the next try, for POSTPONE and RETRY."""
    tries: Mapping[HandlerName, Tries] = field(default_factory=lambda: NO_TRIES)
    attempts: tuple[Attempt, ...] = ()
    handler: str = ""
    """Who decided it, for DELAYED and DEAD."""
    reason: str = ""
    """A word for machines: attempts_exhausted, gave_up, permanent, crash_loop, malformed_body, time_exhausted, ..."""
    error: str = ""
    """The error's class name, for filters."""
    line: str = ""
    """Of the user's code in which it failed, such as `shop.py:14`."""
    message: str = ""
    handlers: tuple[HandlerName, ...] = ()
    """For FINISH: every handler that has its `done` receipt for this event, whichever claim it ran in."""
    lane: Lane | None = None
    """The lane that the event held when it was claimed."""
    is_passed: bool = False
    """No ordered handler has anything more to do with it: what comes after it in its lane may run."""
    stirs: tuple[str, ...] = ()
    """What other events may be parked for, and has changed: it is told before this is settled."""
    waits_for: StateKey | None = None
    """For PARK: the state that must change."""
    seen: str | None = None
    """For PARK: what it was."""

    @property
    def lets_pass(self) -> bool:
        """Whether its lane waits for it no longer, where it waits for anybody. Of some states the move itself says so,
        and not who makes it: the source may have been ordered since the claim, and then its worker takes the event for
        one that holds nothing."""
        return self.is_passed or LEADS_TO[self.signal] in LET_PASS

    @property
    def moves_its_lane(self) -> bool:
        """Whether its lane may have to wait for it no longer. Whoever queues an event looks again, too: what it waited
        for may have been passed since it was claimed."""
        return self.lets_pass or self.signal is Signal.QUEUE or PLACES[LEADS_TO[self.signal]] is Place.HISTORY


DISCARDED = "discarded"
"""The reason of what an operator decided not to process."""


def decided(event: EventId, signal: Signal, *, reason: str, message: str = "") -> Settlement:
    """What an operator decides about an event that nobody holds: such a signal is guarded by neither run nor token. Its
    lane waits for it no longer."""
    return Settlement(event, 0, Token(b""), signal, reason=reason, message=message, is_passed=True)


def skipped(event: EventId) -> Settlement:
    """What a dead letter comes to whose lane an operator has go on."""
    return decided(event, Signal.SKIP, reason="skipped")


BY_OPERATOR = "operator"
"""The reason of what an operator holds."""


def put_on_hold(event: EventId, why: str) -> Settlement:
    """What an event that waits comes to when an operator holds it. As with `closed`, why is a text of its line; and
    what is said of the event, for whoever decides about it."""
    reason = Attempt("", 0, BY_OPERATOR, message=why)
    return replace(decided(event, Signal.HOLD, reason=BY_OPERATOR, message=why), attempts=(reason,))


def discarded(event: EventId, held_for: str) -> Settlement:
    """What a held event comes to that an operator does not let in."""
    return decided(event, Signal.DISCARD, reason=DISCARDED, message=f"was held: {held_for}")


def closed(event: EventId, why: str) -> Settlement:
    """What a dead letter comes to that an operator closes. Why is a text of its line, which erasure reaches."""
    reason = Attempt("", 0, DISCARDED, message=why)
    return replace(decided(event, Signal.CLOSE, reason=DISCARDED), attempts=(reason,))


def without_body(event: EventId, run: int, token: Token) -> Settlement:
    """What a claim comes to whose body is gone: there is nothing to process, and leasing it again finds nothing."""
    message = "its body is not in the inbox any more; restore it and replay the event, or have it sent again"
    return Settlement(event, run, token, Signal.REFUSE, reason="body_missing", message=message)


def unopened(claim: Claim, why: str) -> Settlement:
    """What a claim comes to whose body is sealed and does not open: no other worker can do better."""
    return Settlement(claim.event_id, claim.run, claim.token, Signal.REFUSE, reason="not_opened", message=why)


NO_WRITES = "no_writes"
"""The outcome of an attempt that is done although its handler never used its transaction, and the reason of a line of
history that has one."""

SUPERSEDED = "superseded"
"""The outcome of an attempt that is done without its handler, because a newer event of the same entity is done; and the
reason of a line of history that has one."""

NO_MASTER_KEY = "no_master_key"
"""The reason of what waits for a worker that has the master key."""

ANOTHER_WORKER_SECONDS = 10.0
"""Until it is offered again: while a new master key is rolled out, workers with it and without it run side by side."""


def unopened_here(claim: Claim, why: str) -> Settlement:
    """What a claim comes to whose body this worker has no master key for: another one has it, or will."""
    which = (claim.event_id, claim.run, claim.token)
    return Settlement(*which, Signal.POSTPONE, due_in=ANOTHER_WORKER_SECONDS, reason=NO_MASTER_KEY, message=why)

"""The life of an effect: one table, as for events. Nothing else in Landfast decides which state follows which.

A handler stages an effect in its own transaction, and the COMMIT makes it ready. A worker claims it under a lease,
performs it and settles it. One that was staged after others waits until the last of them is done: the transaction that
says so frees it. One that stands for an event that steps wait for ends when that was handled, or at its deadline. A
signal that the table does not list for a state is refused by every ledger driver and changes nothing. To renew or
abandon a lease is no signal: the effect stays claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from landfast.domain.arrival import Awaits
from landfast.domain.ids import HandlerName, ReceiptDigest, Token
from landfast.domain.outcome import Tries


class EffectState(StrEnum):
    WAITING = "waiting"
    """Staged after others, of which not all are done. If one of them is dead, it waits for an operator."""
    READY = "ready"
    """Staged and committed; or given back."""
    CLAIMED = "claimed"
    """Leased to a worker; an expired lease is claimable again."""
    DELAYED = "delayed"
    """Waiting for its time, for its next try, or for a worker that knows its name; or it stands for an arrival, and its
    time is the deadline."""
    DONE = "done"
    """Performed; or skipped by an operator."""
    DEAD = "dead"
    """Waits for an operator."""


class EffectSignal(StrEnum):
    FREE = "free"
    """The last one that it waited for is done."""
    SCHEDULE = "schedule"
    """The same, of one that was staged for a time."""
    ARRIVE = "arrive"
    """The event was handled for which it stands."""
    CLAIM = "claim"
    RELEASE = "release"
    """Give it back at once, untried: its tries and its last error stay as they are."""
    POSTPONE = "postpone"
    """Give it back for later, no try counted: this worker does not know its name, or lacks its master key."""
    RETRY = "retry"
    """A counted try failed; try again later."""
    FINISH = "finish"
    """It was performed."""
    BURY = "bury"
    """It failed for good."""
    REVIVE = "revive"
    """An operator has a dead one performed, with fresh tries."""
    SKIP = "skip"
    """An operator has those go on that wait for a dead one, without it."""
    ERASE = "erase"
    """An operator has what it would say destroyed. What was performed stays performed."""


TRANSITIONS: dict[tuple[EffectState, EffectSignal], EffectState] = {
    # By the transaction that finishes the last one that it waits for:
    (EffectState.WAITING, EffectSignal.FREE): EffectState.READY,
    (EffectState.WAITING, EffectSignal.SCHEDULE): EffectState.DELAYED,
    # By the transaction of the event's handler. Whoever holds its lease finds it done, and walks away:
    (EffectState.READY, EffectSignal.ARRIVE): EffectState.DONE,
    (EffectState.DELAYED, EffectSignal.ARRIVE): EffectState.DONE,
    (EffectState.CLAIMED, EffectSignal.ARRIVE): EffectState.DONE,
    (EffectState.READY, EffectSignal.CLAIM): EffectState.CLAIMED,
    (EffectState.DELAYED, EffectSignal.CLAIM): EffectState.CLAIMED,  # only when it is due
    (EffectState.CLAIMED, EffectSignal.CLAIM): EffectState.CLAIMED,  # only when the lease has expired
    # By the holder of the token:
    (EffectState.CLAIMED, EffectSignal.RELEASE): EffectState.READY,
    (EffectState.CLAIMED, EffectSignal.POSTPONE): EffectState.DELAYED,
    (EffectState.CLAIMED, EffectSignal.RETRY): EffectState.DELAYED,
    (EffectState.CLAIMED, EffectSignal.FINISH): EffectState.DONE,
    (EffectState.CLAIMED, EffectSignal.BURY): EffectState.DEAD,
    # By an operator:
    (EffectState.DEAD, EffectSignal.REVIVE): EffectState.READY,  # unless it was erased
    (EffectState.DEAD, EffectSignal.SKIP): EffectState.DONE,  # unless it was erased
    (EffectState.WAITING, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.READY, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.CLAIMED, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.DELAYED, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.DEAD, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.DONE, EffectSignal.ERASE): EffectState.DONE,
}

STAGED = EffectState.READY
"""In which an effect begins that waits for nothing."""

STAGED_FOR_A_TIME = EffectState.DELAYED
STAGED_AFTER_OTHERS = EffectState.WAITING

WAITS = EffectState.WAITING
"""The only state in which an effect is freed."""

FREED = TRANSITIONS[WAITS, EffectSignal.FREE], TRANSITIONS[WAITS, EffectSignal.SCHEDULE]
"""What it is then, and what it is if it was staged for a time."""

HELD = EffectState.CLAIMED
"""The only state in which an effect has a lease and a token: renewed, abandoned and settled `WHERE` it is in it."""

HOLDER_SIGNALS = frozenset(
    {
        EffectSignal.RELEASE,
        EffectSignal.POSTPONE,
        EffectSignal.RETRY,
        EffectSignal.FINISH,
        EffectSignal.BURY,
    }
)
"""Settled `WHERE key AND run AND token`; no row means another owner, and we walk away."""

ARRIVES, ARRIVED = frozenset(state for state, heard in TRANSITIONS if heard is EffectSignal.ARRIVE), EffectState.DONE
"""In which one may be that stands for an event, and what it comes to when that was handled."""

OVER = frozenset({EffectState.DONE, EffectState.DEAD})
"""No claim follows unless an operator wants it: a driver keeps these out of the way of its claims."""


def after(state: EffectState, signal: EffectSignal) -> EffectState | None:
    """The state that follows, or None where the signal is not legal."""
    return TRANSITIONS.get((state, signal))


def move(signal: EffectSignal) -> tuple[EffectState, EffectState]:
    """From where to where, of a signal that is legal in one state only."""
    ((before, then),) = ((state, end) for (state, heard), end in TRANSITIONS.items() if heard is signal)
    return before, then


@dataclass(frozen=True, slots=True)
class Step:
    """The place of an effect among the others that its handler staged for the same event. What it names by key are
    effects of its own run."""

    named: str = ""
    """What the user called it."""
    after: tuple[str, ...] = ()
    """Keys of those that must be done before it is performed."""
    inputs: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Arguments that are what others return, by the keys of those."""
    leads: bool = False
    """Another one is staged after it."""
    gives: bool = False
    """Another one takes what it returns."""
    arrival: Awaits | None = None
    """What it stands for, where it is no effect of the user's but an event that others of them wait for."""
    waited: tuple[str, ...] = ()
    """Those of `after` that stand for events."""


ALONE = Step()


@dataclass(frozen=True, slots=True)
class StagedEffect:
    """An outward action recorded in the handler's transaction, to be performed after its COMMIT."""

    key: str
    run: int
    digest: ReceiptDigest
    handler: HandlerName
    name: str
    arguments: bytes
    """JSON object of keyword arguments."""
    context: bytes = b"{}"
    """JSON object that ties it to its event: source, key, type, event id."""
    step: Step = ALONE
    due_in: float | None = None
    """Seconds from its COMMIT until it may be performed, where it was staged for a time. Only who stages it says so."""

    @property
    def begins(self) -> EffectState:
        """The state in which it is staged."""
        if self.step.after:
            return STAGED_AFTER_OTHERS
        return STAGED if self.due_in is None else STAGED_FOR_A_TIME

    @property
    def awaits(self) -> tuple[str, ...]:
        """Keys of the effects of its run, and of the arrival, that must come first."""
        arrival = self.step.arrival
        return self.step.after if arrival is None else (*self.step.after, arrival.key)

    @property
    def is_plain(self) -> bool:
        """Whether it stands alone and is due at once, as most are."""
        return self.due_in is None and self.step == ALONE


@dataclass(frozen=True, slots=True)
class ClaimedEffect:
    staged: StagedEffect
    token: Token
    tries: Tries
    suspect: bool = False
    crashes: int = 0
    unknown_seconds: float = 0.0
    """How long no worker has known its name. That is no time of its tries, and a try ends it."""
    closed: str = ""
    """Why its arguments are still sealed, where this worker lacks the master key and another may have it."""
    results: Mapping[str, bytes | None] = field(default_factory=dict)
    """What those returned whose results it takes, as JSON, by their keys."""


SKIPPED = "skipped"
"""The `error` of an effect that is done and was not performed: an operator had the others go on without it. Its message
is still that of its last try."""

UNKNOWN_EFFECT = "UnknownEffectError"
"""The `error` of an effect that waits for a worker in which its name is registered, or that waited in vain."""


@dataclass(frozen=True, slots=True)
class EffectSettlement:
    """What one claim of an effect came to: a signal of HOLDER_SIGNALS, and what is written down with it."""

    key: str
    run: int
    token: Token
    signal: EffectSignal
    due_in: float = 0.0
    """Seconds until the next try, for POSTPONE and RETRY."""
    tries: Tries = field(default_factory=Tries)
    unknown_seconds: float = 0.0
    error: str = ""
    message: str = ""
    trace: str = ""
    result: bytes | None = None
    """What it returned, as JSON; for FINISH."""
    is_step: bool = False
    """Others were staged after it, or it after others: what it comes to concerns them."""

    def __post_init__(self) -> None:
        if self.signal not in HOLDER_SIGNALS:
            raise ValueError(f"no claim comes to {self.signal}; it comes to one of {', '.join(sorted(HOLDER_SIGNALS))}")

    @property
    def state(self) -> EffectState:
        """In which it leaves the effect."""
        return TRANSITIONS[HELD, self.signal]

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def frees(self) -> bool:
        """Whether those that wait for it have to be told."""
        return self.is_step and self.signal is EffectSignal.FINISH

    @property
    def keeps_tries(self) -> bool:
        """Whether it leaves the tries and the last error as they are."""
        return self.signal is EffectSignal.RELEASE

"""The life of an effect: one table, as for events. Nothing else in Landfast decides which state follows which.

A handler stages an effect in its own transaction, and the COMMIT makes it ready. A worker claims it under a lease,
performs it and settles it. A signal that the table does not list for a state is refused by every ledger driver and
changes nothing. To renew or abandon a lease is no signal: the effect stays claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from landfast.domain.ids import HandlerName, ReceiptDigest, Token
from landfast.domain.outcome import Tries


class EffectState(StrEnum):
    READY = "ready"
    """Staged and committed; or given back."""
    CLAIMED = "claimed"
    """Leased to a worker; an expired lease is claimable again."""
    DELAYED = "delayed"
    """Waiting for its next try, or for a worker that knows its name."""
    DONE = "done"
    """Performed."""
    DEAD = "dead"
    """Waits for an operator."""


class EffectSignal(StrEnum):
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
    ERASE = "erase"
    """An operator has what it would say destroyed. What was performed stays performed."""


TRANSITIONS: dict[tuple[EffectState, EffectSignal], EffectState] = {
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
    (EffectState.READY, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.CLAIMED, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.DELAYED, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.DEAD, EffectSignal.ERASE): EffectState.DEAD,
    (EffectState.DONE, EffectSignal.ERASE): EffectState.DONE,
}

STAGED = EffectState.READY
"""In which an effect begins."""

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

OVER = frozenset(state for state in EffectState if (state, EffectSignal.CLAIM) not in TRANSITIONS)
"""No claim follows: a driver keeps these out of the way of its claims."""


def after(state: EffectState, signal: EffectSignal) -> EffectState | None:
    """The state that follows, or None where the signal is not legal."""
    return TRANSITIONS.get((state, signal))


def move(signal: EffectSignal) -> tuple[EffectState, EffectState]:
    """From where to where, of a signal that is legal in one state only."""
    ((before, then),) = ((state, end) for (state, heard), end in TRANSITIONS.items() if heard is signal)
    return before, then


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
    def keeps_tries(self) -> bool:
        """Whether it leaves the tries and the last error as they are."""
        return self.signal is EffectSignal.RELEASE

"""The life of an event: one table. Nothing else in Landfast decides which state follows which.

An event is recorded as ready, or as held where a rule says so. A signal that the table does not list for a state is
refused by every inbox driver and changes nothing.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    READY = "ready"
    """Runnable now."""
    CLAIMED = "claimed"
    """Leased to a worker; an expired lease is claimable again."""
    DELAYED = "delayed"
    """Waiting for its next try."""
    UNHANDLED = "unhandled"
    """No handler matched. Not final: a worker that registers one requeues it."""
    HELD = "held"
    """Stored and never tried: an operator says whether it is processed at all."""
    PAUSED = "paused"
    """Its source or its handler is switched off."""
    DONE = "done"
    """Every matching handler has its `done` receipt; or none matched, and its source says that none has to."""
    DEAD = "dead"
    """Waits for an operator."""


class Signal(StrEnum):
    CLAIM = "claim"
    RELEASE = "release"
    """Give it back at once, untried."""
    POSTPONE = "postpone"
    """Give it back for later, no attempt counted: the infrastructure was at fault."""
    RETRY = "retry"
    """A counted attempt failed; try again later."""
    SHELVE = "shelve"
    """No handler matched."""
    DISMISS = "dismiss"
    """Done without a handler: its source says that nobody wants it."""
    REFUSE = "refuse"
    """Dead before any handler saw it."""
    PAUSE = "pause"
    """What would process it is switched off."""
    FINISH = "finish"
    """Follows `done` receipts, whoever holds the lease."""
    BURY = "bury"
    """Follows a tombstone receipt, whoever holds the lease."""
    WAKE = "wake"
    REQUEUE = "requeue"
    RESUME = "resume"
    """The switch that paused it is in force no longer."""
    ADMIT = "admit"
    """An operator lets a held event in."""
    DISCARD = "discard"
    """An operator decides that a held event is never processed."""
    ERASE = "erase"
    """An operator has what it brought destroyed. What is done stays done, and needs no signal."""
    REPLAY = "replay"
    """An operator starts run + 1."""
    RECOVER = "recover"
    """The ledger lost this event's receipts: the same run again."""


TRANSITIONS: dict[tuple[State, Signal], State] = {
    (State.READY, Signal.CLAIM): State.CLAIMED,
    (State.CLAIMED, Signal.CLAIM): State.CLAIMED,  # only when the lease has expired
    # By the holder of the token:
    (State.CLAIMED, Signal.RELEASE): State.READY,
    (State.CLAIMED, Signal.POSTPONE): State.DELAYED,
    (State.CLAIMED, Signal.RETRY): State.DELAYED,
    (State.CLAIMED, Signal.SHELVE): State.UNHANDLED,
    (State.CLAIMED, Signal.DISMISS): State.DONE,
    (State.CLAIMED, Signal.REFUSE): State.DEAD,
    (State.CLAIMED, Signal.PAUSE): State.PAUSED,
    # By whoever knows of the receipts, token or not:
    (State.READY, Signal.FINISH): State.DONE,
    (State.CLAIMED, Signal.FINISH): State.DONE,
    (State.DELAYED, Signal.FINISH): State.DONE,
    (State.UNHANDLED, Signal.FINISH): State.DONE,
    (State.PAUSED, Signal.FINISH): State.DONE,
    (State.READY, Signal.BURY): State.DEAD,
    (State.CLAIMED, Signal.BURY): State.DEAD,
    (State.DELAYED, Signal.BURY): State.DEAD,
    (State.UNHANDLED, Signal.BURY): State.DEAD,
    (State.PAUSED, Signal.BURY): State.DEAD,
    # By time, by a deploy, by an operator:
    (State.DELAYED, Signal.WAKE): State.READY,
    (State.UNHANDLED, Signal.REQUEUE): State.READY,
    (State.PAUSED, Signal.RESUME): State.READY,
    (State.HELD, Signal.ADMIT): State.READY,
    (State.HELD, Signal.DISCARD): State.DEAD,
    (State.READY, Signal.ERASE): State.DEAD,
    (State.DELAYED, Signal.ERASE): State.DEAD,
    (State.UNHANDLED, Signal.ERASE): State.DEAD,
    (State.HELD, Signal.ERASE): State.DEAD,
    (State.PAUSED, Signal.ERASE): State.DEAD,
    (State.DEAD, Signal.ERASE): State.DEAD,
    (State.UNHANDLED, Signal.REPLAY): State.READY,
    (State.DONE, Signal.REPLAY): State.READY,
    (State.DEAD, Signal.REPLAY): State.READY,
    (State.DONE, Signal.RECOVER): State.READY,
}

TOKEN_SIGNALS = frozenset(
    {
        Signal.RELEASE,
        Signal.POSTPONE,
        Signal.RETRY,
        Signal.SHELVE,
        Signal.DISMISS,
        Signal.REFUSE,
        Signal.PAUSE,
    }
)
"""Settled `WHERE event AND run AND token`; no row means another owner, and we walk away."""

RECEIPT_SIGNALS = frozenset({Signal.FINISH, Signal.BURY})
"""Settled `WHERE event AND run`: the receipt has decided, and the token is irrelevant."""


def after(state: State, signal: Signal) -> State | None:
    """The state that follows, or None where the signal is not legal."""
    return TRANSITIONS.get((state, signal))


def from_states(signal: Signal) -> frozenset[State]:
    return frozenset(state for state, heard in TRANSITIONS if heard is signal)

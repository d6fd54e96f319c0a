"""The life of an event. Everything that decides which state follows which is in this file, and nothing is elsewhere.

Theory of operation
-------------------

A *state* is what an event is, as an operator would say it: ready, delayed, dead. An event is in one state at a time. It
is recorded as ready, or as held where a rule says so.

A *signal* is what somebody wants of an event: a worker, a clock, an operator. TRANSITIONS is the table of states and
signals. A signal that it does not list for a state is refused by every inbox driver, and changes nothing.

A *place* is where the events of a state live, and PLACES says it for each. There are three, because each costs
something else (ADR 4):

    work      small and hot. What can run, and what runs. The state is not written down here: an event with a token is
              claimed, and one without is ready.
    shelf     what waits, in a column `state`. Only TIMED states have a time at which they are due.
    history   append-only. An event that is in neither work nor shelf is done if its newest line says so.

A *guard* is what must still be true when the signal arrives, besides the state, and GUARDS says it for each signal. A
worker that lost its lease may say nothing any more (TOKEN); a receipt in the ledger has decided, whoever found it, but
only for its run (RUN); time, deploys and operators know neither token nor run (STATE).

A *move* is what a driver carries out for a signal: a *way* from place to place, with the states that it takes and its
guard, and the state that it leads to. MOVES is derived from the tables above:

                    to work             to shelf                     to history
    from work       release             retry, pause, bury, hold     finish, dismiss
    from shelf      requeue, hasten     bury, hold, erase, discard   close; finish, by a zombie
    from history    replay, recover

Each driver has one statement for each of these seven kinds, called as the kind is (`work_to_shelf.sql`), which takes
signal, states and guard as parameters. No statement names a state. What differs from signal to signal is how its events
are found (those of a type, those whose switch is gone, these ids): that is a statement of its own, `*_candidates.sql`.
Three signals have statements of their own, because they are sent many times a second to whatever is next: `claim*`,
`wake` and `lane_*` (for `promote`). A move adds one line of history; these three add none.

A *lane* is the events of one entity, in order. An event *holds* its lane, in whichever state, until ordered handlers
have passed it: what comes after it is queued, and promoted in the transaction that passes it (domain/holding.py).
So a new state is a row in these tables, one migration in each driver that lets the shelf hold it, and its candidates.
ADR 27 lists every file that such a change touches.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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
    """An operator says whether it is processed: a rule kept it before any try, or an operator put it here."""
    PAUSED = "paused"
    """Its source or its handler is switched off."""
    PARKED = "parked"
    """A lifecycle of the user's does not allow it yet: it waits until its entity moves, or until its deadline."""
    QUEUED = "queued"
    """An earlier event of its lane is not passed yet."""
    DONE = "done"
    """Every matching handler has its `done` receipt; or none matched, and its source says that none has to; or it was
    dead, and an operator closed it."""
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
    NO_HANDLER = "no_handler"
    """No handler matched."""
    DISMISS = "dismiss"
    """Done without a handler: its source says that nobody wants it."""
    REFUSE = "refuse"
    """Dead before any handler saw it."""
    PAUSE = "pause"
    """What would process it is switched off."""
    PARK = "park"
    """A lifecycle does not allow it from the state that its entity is in."""
    FINISH = "finish"
    """Follows `done` receipts, whoever holds the lease."""
    BURY = "bury"
    """Follows a tombstone receipt, whoever holds the lease."""
    QUEUE = "queue"
    """An earlier event of its lane is not passed yet."""
    WAKE = "wake"
    PROMOTE = "promote"
    """Nothing earlier holds its lane any more."""
    REQUEUE = "requeue"
    RESUME = "resume"
    """The switch that paused it is in force no longer."""
    STIR = "stir"
    """The entity that it is parked for has moved."""
    HOLD = "hold"
    """An operator has what waits kept from being processed, until somebody decides."""
    ADMIT = "admit"
    """An operator lets a held event in."""
    DISCARD = "discard"
    """An operator decides that a held event is never processed."""
    ERASE = "erase"
    """An operator has what it brought destroyed. What is done stays done, and needs no signal."""
    HASTEN = "hasten"
    """An operator has a delayed event tried now."""
    CLOSE = "close"
    """An operator decides that nothing more is done about a dead letter. It owes no receipt, and can be replayed."""
    SKIP = "skip"
    """An operator has its lane go on without a dead letter that blocks it. It stays one, and can be replayed."""
    REPLAY = "replay"
    """An operator starts run + 1."""
    RECOVER = "recover"
    """The ledger lost this event's receipts: the same run again."""


WAITING = (State.READY, State.DELAYED, State.UNHANDLED, State.PAUSED, State.QUEUED, State.PARKED)
"""In nobody's hands, and nobody has to decide about them."""

TRANSITIONS: dict[tuple[State, Signal], State] = {
    (State.READY, Signal.CLAIM): State.CLAIMED,
    (State.CLAIMED, Signal.CLAIM): State.CLAIMED,  # only when the lease has expired
    # By the holder of the token:
    (State.CLAIMED, Signal.RELEASE): State.READY,
    (State.CLAIMED, Signal.POSTPONE): State.DELAYED,
    (State.CLAIMED, Signal.RETRY): State.DELAYED,
    (State.CLAIMED, Signal.NO_HANDLER): State.UNHANDLED,
    (State.CLAIMED, Signal.DISMISS): State.DONE,
    (State.CLAIMED, Signal.REFUSE): State.DEAD,
    (State.CLAIMED, Signal.PAUSE): State.PAUSED,
    (State.CLAIMED, Signal.QUEUE): State.QUEUED,
    (State.CLAIMED, Signal.PARK): State.PARKED,
    # By whoever knows of the receipts, token or not:
    **{(state, Signal.FINISH): State.DONE for state in (*WAITING, State.CLAIMED, State.HELD)},
    **{(state, Signal.BURY): State.DEAD for state in (*WAITING, State.CLAIMED, State.HELD)},
    # By its lane, by time, by a deploy, by an operator:
    (State.QUEUED, Signal.PROMOTE): State.READY,
    (State.DELAYED, Signal.WAKE): State.READY,
    (State.PARKED, Signal.WAKE): State.READY,
    (State.UNHANDLED, Signal.REQUEUE): State.READY,
    (State.PAUSED, Signal.RESUME): State.READY,
    (State.PARKED, Signal.STIR): State.READY,
    **{(state, Signal.HOLD): State.HELD for state in WAITING},
    (State.HELD, Signal.ADMIT): State.READY,
    (State.HELD, Signal.DISCARD): State.DEAD,
    **{(state, Signal.ERASE): State.DEAD for state in (*WAITING, State.HELD, State.DEAD)},
    (State.DELAYED, Signal.HASTEN): State.READY,
    (State.DEAD, Signal.CLOSE): State.DONE,
    (State.DEAD, Signal.SKIP): State.DEAD,
    (State.UNHANDLED, Signal.REPLAY): State.READY,
    (State.PARKED, Signal.REPLAY): State.READY,
    (State.DONE, Signal.REPLAY): State.READY,
    (State.DEAD, Signal.REPLAY): State.READY,
    (State.DONE, Signal.RECOVER): State.READY,
}


class Place(StrEnum):
    WORK = "work"
    SHELF = "shelf"
    HISTORY = "history"


PLACES: dict[State, Place] = {
    State.READY: Place.WORK,
    State.CLAIMED: Place.WORK,
    State.DELAYED: Place.SHELF,
    State.UNHANDLED: Place.SHELF,
    State.HELD: Place.SHELF,
    State.PAUSED: Place.SHELF,
    State.PARKED: Place.SHELF,
    State.DEAD: Place.SHELF,
    State.QUEUED: Place.SHELF,
    State.DONE: Place.HISTORY,
}

TIMED = frozenset({State.DELAYED, State.PARKED})
"""Those that have a time at which they are due, and no others do."""

COUNTED = frozenset({State.UNHANDLED})
"""Those that the shelf counts as they come and go, because there may be millions of them (ADR 21)."""

LISTED = tuple(state for state, place in PLACES.items() if place is Place.SHELF and state not in COUNTED)
"""Those of the shelf that are counted when somebody asks."""


class Guard(StrEnum):
    TOKEN = "token"  # noqa: S105 - the name of a guard
    """Event, run and token. No row means another owner, and we walk away."""
    RUN = "run"
    """Event and run, under any token or none."""
    STATE = "state"
    """The event alone."""


GUARDS: dict[Signal, Guard] = {
    Signal.CLAIM: Guard.STATE,
    Signal.RELEASE: Guard.TOKEN,
    Signal.POSTPONE: Guard.TOKEN,
    Signal.RETRY: Guard.TOKEN,
    Signal.NO_HANDLER: Guard.TOKEN,
    Signal.DISMISS: Guard.TOKEN,
    Signal.REFUSE: Guard.TOKEN,
    Signal.PAUSE: Guard.TOKEN,
    Signal.QUEUE: Guard.TOKEN,
    Signal.PARK: Guard.TOKEN,
    Signal.FINISH: Guard.RUN,
    Signal.BURY: Guard.RUN,
    Signal.WAKE: Guard.STATE,
    Signal.PROMOTE: Guard.STATE,
    Signal.REQUEUE: Guard.STATE,
    Signal.RESUME: Guard.STATE,
    Signal.STIR: Guard.STATE,
    Signal.HOLD: Guard.STATE,
    Signal.ADMIT: Guard.STATE,
    Signal.DISCARD: Guard.STATE,
    Signal.ERASE: Guard.STATE,
    Signal.HASTEN: Guard.STATE,
    Signal.CLOSE: Guard.STATE,
    Signal.SKIP: Guard.STATE,
    Signal.REPLAY: Guard.STATE,
    Signal.RECOVER: Guard.STATE,
}

TOKEN_SIGNALS = frozenset(signal for signal, guard in GUARDS.items() if guard is Guard.TOKEN)
RECEIPT_SIGNALS = frozenset(signal for signal, guard in GUARDS.items() if guard is Guard.RUN)

NEXT_RUN = frozenset({Signal.REPLAY})
"""Those that start run + 1, with fresh tries and no suspicion. All others leave the run as it is."""


class Way(NamedTuple):
    """What a statement needs to know. Moves that go one way are made by one statement at a time."""

    kind: str
    """`work_to_shelf`: the name of its statement in each driver."""
    start: Place
    end: Place
    states: tuple[State, ...]
    """Those that it takes, of those that live at its start."""
    guard: Guard
    takes_any_token: bool
    """Of what is at work: whether it takes the ready and the claimed alike."""


class Move(NamedTuple):
    way: Way
    signal: Signal
    state: State
    """That it leads to."""


def after(state: State, signal: Signal) -> State | None:
    """The state that follows, or None where the signal is not legal."""
    return TRANSITIONS.get((state, signal))


def from_states(signal: Signal) -> frozenset[State]:
    return frozenset(state for state, heard in TRANSITIONS if heard is signal)


def _moves(signal: Signal) -> tuple[Move, ...]:
    (state,) = {follows for (_, heard), follows in TRANSITIONS.items() if heard is signal}
    legal = from_states(signal)
    taken = {place: tuple(one for one in State if one in legal and PLACES[one] is place) for place in Place}
    both = {State.READY, State.CLAIMED}
    ways = [
        Way(f"{place}_to_{PLACES[state]}", place, PLACES[state], states, GUARDS[signal], both <= set(states))
        for place, states in taken.items()
        if states
    ]
    return tuple(Move(way, signal, state) for way in ways)


MOVES: dict[Signal, tuple[Move, ...]] = {signal: _moves(signal) for signal in Signal}
"""The moves of each signal, from work first: most events that are settled are there."""

LEADS_TO: dict[Signal, State] = {signal: moves[0].state for signal, moves in MOVES.items()}
"""Each signal leads to one state, wherever it is legal."""

"""How the hands of a worker are shared among handlers and sources, so that none of them can take them all.

What is counted is hands. A hand runs its events one after the other, so a handler that is in three hands runs at most
three events at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from landfast.domain.flow import Flow
from landfast.domain.ids import EventId, HandlerName
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.turns import Group, Sharer, Turns, handlers_in
from landfast.processing.handlers.registry import Handler
from landfast.processing.lanes import Walk
from landfast.processing.work import ClaimedEvent, Result, Work

IN_HAND_SHOWN = 20
"""Of what a worker has in hand, told in its heartbeat: what takes longest is among them."""
REPLAYS: Group = frozenset({Sharer("replays", "")})
"""What makes a group of its own of events that are replayed: so they and live ones of the same handlers take turns."""


def sharers_of(source: str, handlers: Iterable[Handler]) -> Group:
    return frozenset({Sharer("source", source), *map(_sharer, handlers)})


def _sharer(handler: Handler) -> Sharer:
    return Sharer("handler", handler.name)


@dataclass(slots=True, eq=False)
class Hold:
    """What one hand holds."""

    full: frozenset[Sharer] = frozenset()
    """Handlers and sources that were at their limit when it began to claim: it claims nothing of theirs."""
    sharers: frozenset[Sharer] | None = None
    """The handlers and sources of the events that it holds. None while it claims: any that was not full."""
    events: dict[EventId, ClaimedEvent] = field(default_factory=dict)
    running: frozenset[EventId] = frozenset()
    """The events of the transaction that is open now."""
    handler: Handler | None = None
    """Whose transaction it is."""
    since: float = 0.0
    """When it began, by the loop's clock."""
    slow: set[HandlerName] = field(default_factory=set)
    """Handlers that were slow in this claim."""
    let_go: int = 0
    """How many of its events are this hand's no longer."""
    walk: Walk = field(default_factory=Walk)
    """Through the lanes of its events."""

    def may_hold(self, one: Sharer) -> bool:
        return one not in self.full if self.sharers is None else one in self.sharers

    def runs(self, handler: Handler, works: Iterable[Work]) -> None:
        self.handler, self.running = handler, frozenset(work.claim.event_id for work in works)
        self.since = asyncio.get_running_loop().time()

    def runs_nothing(self) -> None:
        """The transaction has ended. What takes long from now on is not its handler's doing."""
        self.handler, self.running = None, frozenset()

    def note(self, results: Mapping[Work, Result]) -> None:
        """At once, and not when all are through: relief lets go of a part of it, and must know what is decided."""
        for work, result in self.walk.judged(results).items():
            self.events[work.claim.event_id].results[work] = result

    def note_all(self, works: Iterable[Work], result: Result) -> None:
        """The same for all of them that are still this hand's."""
        self.note({work: result for work in works if not self.is_let_go(work)})

    def is_let_go(self, work: Work) -> bool:
        return self.events[work.claim.event_id].is_let_go


@dataclass(frozen=True, slots=True)
class Choice:
    """What a hand claims next: flows that have the same handlers."""

    flows: Sequence[Flow]
    sharers: Group
    pace: Pace
    is_last: bool
    """Nothing else waits that this hand might take."""


@dataclass(slots=True)
class Shares:
    hands: int = 1
    handlers: Sequence[Handler] = ()
    sources: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The limits of those that have one."""
    slow: set[HandlerName] = field(default_factory=set)
    """Handlers that were slow when they last ran."""
    is_replaying: bool = False
    """An operator replays many events: they and what comes in take turns."""
    _holds: set[Hold] = field(default_factory=set)
    _paces: dict[Group, Pace] = field(default_factory=dict)
    _turns: Turns = field(default_factory=Turns)
    _passed_over_by: Hold | None = None
    """The hold that last saw something that waits and may not be taken."""

    @property
    def matter(self) -> bool:
        """One handler that nobody limits needs to share with nobody, unless there are replays beside what comes in."""
        has_others = len(self.handlers) > 1 or self.is_replaying
        return has_others or bool(self.sources) or any(one.concurrency for one in self.handlers)

    def open(self) -> Hold:
        """A hand is about to claim."""
        hold = Hold(self._full())
        self._holds.add(hold)
        if not hold.full:
            self._passed_over_by = None
        return hold

    def in_hand(self, *, now: float) -> list[dict[str, object]]:
        """Which handlers run, since when (unix seconds), and one of the events of each transaction; those that take the
        longest first."""
        ago = asyncio.get_running_loop().time() - now
        running = sorted([hold for hold in self._holds if hold.handler is not None], key=lambda hold: hold.since)
        return [
            {
                "handler": hold.handler.name,
                "event": min(hold.running).hex() if hold.running else "",
                "events": len(hold.running),
                "since": round(hold.since - ago, 3),
            }
            for hold in running[:IN_HAND_SHOWN]
            if hold.handler is not None
        ]

    def close(self, hold: Hold) -> None:
        self._holds.discard(hold)

    @property
    def has_passed_over(self) -> bool:
        return self._passed_over_by is not None

    def is_waited_for(self, hold: Hold) -> bool:
        """Whether another hand may have passed over what this one no longer holds."""
        return self._passed_over_by is not None and self._passed_over_by is not hold

    def admit(self, hold: Hold, handler: Handler) -> bool:
        """Whether this hand may run the handler: it may have let go of it while another one was slow."""
        one = _sharer(handler)
        if hold.may_hold(one) or hold not in self._holds:
            return True
        others = self._holds - {hold}
        if not self._has_room(handler, sum(other.may_hold(one) for other in others), self.hands - len(others)):
            return False
        hold.sharers = frozenset({one, *(hold.sharers or ())})
        return True

    def is_slow(self, hold: Hold, handler: Handler) -> None:
        """All that this hand still holds is what this handler runs now."""
        hold.sharers = sharers_of(handler.source, [handler])
        hold.slow.add(handler.name)
        self.slow.add(handler.name)

    def went(self, hold: Hold) -> None:
        """A claim is through: a handler that was not slow in it is slow no longer."""
        if self.slow:
            ran = {work.handler.name for claimed in hold.events.values() for work in claimed.works}
            self.slow -= ran - hold.slow

    def choose(
        self,
        hold: Hold,
        flows: Iterable[Flow],
        handlers_of: Callable[[str, str], Sequence[Handler]],
        *,
        now: float,
    ) -> Choice | None:
        """Choose first what handlers were kept free for, then the events whose handlers are in the fewest hands, and
        among those the group whose turn was longest ago. So neither one backlog nor several of them delay another
        handler."""
        groups: dict[Group, list[Flow]] = {}
        for flow in flows:
            group = sharers_of(flow.source, handlers_of(flow.source, flow.type))
            groups.setdefault(group | REPLAYS if flow.is_replay else group, []).append(flow)
        slow = frozenset(Sharer("handler", name) for name in self.slow)
        kept = self._turns.kept(groups, full=hold.full, slow=slow, now=now)
        open_groups = [
            group for group in groups if not group & hold.full and all(kept.get(one, group) == group for one in group)
        ]
        self._passed_over_by = hold if len(open_groups) < len(groups) else None
        if not open_groups:
            return None
        waited_for = set(kept.values())
        chosen = min(open_groups, key=lambda group: (group not in waited_for, *self._rank(hold, group, groups[group])))
        self._turns.took(chosen, groups, now=now)
        pace = self._paces.setdefault(chosen, Pace())
        return Choice(groups[chosen], chosen, pace, is_last=len(open_groups) == 1)

    def _rank(self, hold: Hold, group: Group, flows: Sequence[Flow]) -> tuple[int, int, int]:
        handlers = handlers_in(group)
        held = sum(1 for other in self._holds if other is not hold and handlers & (other.sharers or frozenset()))
        return held, self._turns.last(group), min(flow.first for flow in flows)

    def _full(self) -> frozenset[Sharer]:
        if not self._holds:
            return frozenset()
        free = self.hands - len(self._holds)
        full = {_sharer(one) for one in self.handlers if not self._has_room(one, self._held(_sharer(one)), free)}
        for name, limit in self.sources.items():
            if self._held(source := Sharer("source", name)) >= limit:
                full.add(source)
        return frozenset(full)

    def _held(self, one: Sharer) -> int:
        return sum(hold.may_hold(one) for hold in self._holds)

    def _has_room(self, handler: Handler, held: int, free: int) -> bool:
        """Whether one more of the free hands may take it. Without a limit of its own, a handler takes a hand only if
        it holds fewer than are free: of 16 hands it gets 8, a second one that hangs 4, and the last hand is for one
        that holds none. With a limit it may take all hands but the last."""
        if handler.concurrency is not None and held >= handler.concurrency:
            return False
        if len(self.handlers) == 1 or not held:
            return True
        return free > 1 if handler.concurrency is not None else held < free

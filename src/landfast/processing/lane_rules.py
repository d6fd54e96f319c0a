"""What a handler's rules for its lane make of an event: is it newer than what is done, and is it legal?

Both are decided inside of the receipt-first transaction, by rows of the ledger that it has locked. Two workers that
handle events of one entity take turns at that row, and the second sees what the first committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from landfast.domain.event import Event
from landfast.domain.ids import HandlerName, InboxId
from landfast.domain.lane import LanePlace, lane_of, place_of
from landfast.domain.lane_memory import LaneMark, LaneState, MarkKey, StateKey
from landfast.domain.machine import ABSENT, Machine, Step
from landfast.domain.outcome import Claim, ReceiptKey, Tries
from landfast.domain.reading import field_at, name_in, version_place
from landfast.ports.ledger import LedgerTransaction
from landfast.processing.handlers.registry import Handler
from landfast.processing.work import Parked, Spent, Superseded, Work

SECOND_LOOK_SECONDS = 30.0
"""An event that is parked for the first time is looked at once more after so long. The worker that parks it looks
whether its entity moved meanwhile; this is for the one that dies before it has looked."""

ILLEGAL = "illegal_transition"
UNKNOWN_STATE = "unknown_state"


def mark_of(inbox: InboxId, handler: Handler, claim: Claim) -> LaneMark | None:
    """How far an ordered handler is in the event's lane once it has run. None: it has no lane."""
    if not handler.ordered or claim.entity is None or claim.place is None:
        return None
    return LaneMark(lane_of(inbox, claim.source, claim.entity), handler.name, claim.place)


def newest_of(inbox: InboxId, handler: Handler, event: Event) -> LaneMark | None:
    """The mark that must not be beyond this event. None: the handler has no such rule, or the event says neither what
    it is about nor how new it is; then it runs like any other."""
    if not handler.newest_only:
        return None
    entity = event.entity if handler.entity is None else name_in(field_at(event.data, handler.entity))
    if entity is None:
        return None
    lane = lane_of(inbox, event.source, entity)
    if isinstance(handler.newest_only, str):
        version = version_place(field_at(event.data, handler.newest_only))
        # Under a name of its own: versions do not compare with times, nor with another field.
        rule = HandlerName(f"{handler.name}:newest:{handler.newest_only}")
        return None if version is None else LaneMark(lane, rule, version)
    if event.occurred_at is None:
        return None
    # Arrival does not count: senders' times tie within a second, and of two that tie both run.
    time = place_of(event.occurred_at, event.received_at)[:8] + bytes(8)
    return LaneMark(lane, HandlerName(f"{handler.name}:newest"), LanePlace(time))


def step_of(inbox: InboxId, machine: Machine, event: Event, tries: Tries) -> Step | Spent | None:
    """None for an event that is about no entity of this lifecycle, or leads to no state: it runs like any other."""
    entity, to = name_in(machine.entity(event)), machine.state_of(event)
    if entity is None or to is None:
        return None
    if to not in machine.states:
        known = ", ".join(machine.states)
        message = f"{event.type} leads to {to!r}, which lifecycle {machine.name} does not have; it has {known}"
        return Spent(UNKNOWN_STATE, message[:500])
    return Step(machine, StateKey(lane_of(inbox, event.source, entity), machine.name), str(to), tries.parked)


@dataclass(slots=True)
class LaneRules:
    """What a transaction knows of the lanes of its events, as its handlers go along."""

    now: datetime
    marks: dict[MarkKey, LanePlace | None] = field(default_factory=dict)
    states: dict[StateKey, str | None] = field(default_factory=dict)
    reached: list[LaneMark] = field(default_factory=list)
    moved: dict[StateKey, LaneState] = field(default_factory=dict)
    late: frozenset[ReceiptKey] = frozenset()
    """Those whose lane had gone on without them. Only the ledger can tell: its COMMITs are the order in which things
    happened."""

    async def lock(self, tx: LedgerTransaction, works: Sequence[Work]) -> None:
        """Marks first, then states, in every transaction: so no two of them wait for each other."""
        marks = [mark for work in works for mark in (work.mark, work.newest) if mark is not None]
        keys = [work.step.key for work in works if work.step is not None]
        if marks:
            before = await tx.mark(marks)
            self.marks = {(mark.lane, mark.handler): place for mark, place in zip(marks, before, strict=True)}
            self.late = frozenset(
                work.receipt for work in works if work.mark is not None and self._is_beyond(work.mark)
            )
        if keys:
            self.states = dict(zip(keys, await tx.lock_states(keys), strict=True))

    def verdict(self, work: Work) -> Superseded | Parked | Spent | None:
        """Why the handler does not run for it; None if it runs. A forced replay runs whatever these rows say."""
        if work.claim.forced:
            return None
        if work.newest is not None and self._is_beyond(work.newest):
            return Superseded()
        step = work.step
        if step is None or step.machine.allows(self.states[step.key], step.to):
            return None
        state, left = self.states[step.key], step.left(self.now)
        if left > 0:
            due_in = left if step.since is not None else min(left, SECOND_LOOK_SECONDS)
            message = step.told(work.event.type, state, is_over=False)
            return Parked(step, state, due_in, message, since=step.since or self.now)
        if step.machine.runs_at_deadline:
            return None
        return Spent(ILLEGAL, step.told(work.event.type, state, is_over=True))

    def state(self, work: Work) -> str | None:
        """The state that the event's entity is in before it; None where no lifecycle has a say."""
        return None if work.step is None else self.states[work.step.key] or ABSENT

    def ran(self, work: Work) -> StateKey | None:
        """It will be committed; the entity that it moved to another state, if it did."""
        if work.mark is not None:
            self.reached.append(work.mark)
        if work.newest is not None:
            key = work.newest.lane, work.newest.handler
            before = self.marks[key]
            self.marks[key] = work.newest.place if before is None else max(before, work.newest.place)
            self.reached.append(work.newest)
        step = work.step
        if step is None:
            return None
        state = self.states[step.key]
        if work.claim.forced and not step.machine.allows(state, step.to):
            return None  # an old event that is run again does not take its entity back
        self.moved[step.key] = step.moved()
        self.states[step.key] = step.to
        return step.key if state != step.to else None

    def _is_beyond(self, mark: LaneMark) -> bool:
        place = self.marks[mark.lane, mark.handler]
        return place is not None and place > mark.place

    async def write(self, tx: LedgerTransaction) -> None:
        if self.moved:
            await tx.move_states([*self.moved.values()])

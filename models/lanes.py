"""Order in one lane: ordered handlers walk its events, workers crash and come back; it is neither reordered nor stuck.
The rules are those of ADR 39: an event holds its lane until every ordered handler has passed it; what is behind is
queued; whoever settles lets the lane go on in the same transaction; the ledger's mark says what is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

ABSENT, HELD, READY, CLAIMED, DELAYED = "absent", "held", "ready", "claimed", "delayed"
PAUSED, QUEUED, DEAD, DONE, UNHANDLED = "paused", "queued", "dead", "done", "unhandled"
NONE, BURIED = "", "buried"
FINAL = frozenset({DEAD, DONE, UNHANDLED})
UNSEEN = frozenset({ABSENT, HELD})
"""Those in which an event does not hold its lane, whatever its row says."""
UNKNOWN = UNSEEN | {UNHANDLED}
"""Those in which nobody has to be done with an event before those after it."""


class Row(NamedTuple):
    """An event in the inbox. Its place in the lane is its number."""

    state: str = READY
    holds: bool = True
    expired: bool = False
    tries: int = 0


class Hold(NamedTuple):
    """An event in a worker's hand."""

    event: int
    tries: int
    results: tuple[str, ...] = ()
    """Of the ordered handlers, as far as it came: done, buried, retry, later, paused, queue."""
    token: bool = True
    """Nobody has claimed it since."""


class Worker(NamedTuple):
    step: str = "idle"
    held: tuple[Hold, ...] = ()
    known: tuple[bool, ...] = ()
    """Which events were there when it claimed."""
    at: int = 0
    late: bool = False


class World(NamedTuple):
    workers: tuple[Worker, ...]
    rows: tuple[Row, ...]
    receipts: tuple[tuple[str, ...], ...]
    """By event and handler."""
    marks: tuple[int, ...]
    """By handler: beyond the last event that it committed."""
    log: tuple[tuple[int, int], ...] = ()
    paused: bool = False
    pauses: int = 0
    flaw: str = ""


IDLE = Worker()
Steps = Iterator[tuple[str, World]]


def put(row: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*row[:at], value, *row[at + 1 :])


@dataclass(frozen=True)
class Lane:
    workers: int = 2
    events: int = 2
    handlers: int = 1
    arrives: frozenset[int] = frozenset()
    """Those that come later, whatever their place."""
    held: frozenset[int] = frozenset()
    """Those that wait for an operator first."""
    fails: frozenset[int] = frozenset()
    """Where the first handler may fail: once, and then for good."""
    other_dies: bool = False
    """A handler without order may give up on the first event."""
    pauses: int = 0
    """How often an operator pauses the first handler."""
    sealed: frozenset[int] = frozenset()
    """Those that a claim may be unable to open: it gives them back at once, for another worker."""
    untaken: frozenset[int] = frozenset()
    """Those in the hand of a worker of the last deploy, which knows neither of a handler for them nor of their lane."""
    block: bool = True
    weakness: str = ""

    def starts(self) -> Iterator[World]:
        states = {**dict.fromkeys(self.arrives, ABSENT), **dict.fromkeys(self.held, HELD)}
        states |= dict.fromkeys(self.untaken, CLAIMED)
        rows = tuple(Row(states.get(event, READY)) for event in range(self.events))
        yield World((IDLE,) * self.workers, rows, ((NONE,) * self.handlers,) * self.events, (0,) * self.handlers)

    # What must hold.

    def broken(self, world: World) -> str | None:
        if world.flaw:
            return world.flaw
        opened = [worker.at % self.handlers for worker in world.workers if worker.step == "open"]
        if len(set(opened)) < len(opened):
            return "I5: two transactions of one handler and lane at a time"
        for event, row in enumerate(world.rows):
            if row.state == DEAD and row.holds and self._passed(world, event):
                return "I5: the lane waits for an event that it has passed"
        return None

    def is_end(self, world: World) -> bool:
        if any(worker.step != "idle" for worker in world.workers):
            return False
        is_blocked = False
        for row in world.rows:
            if row.state not in FINAL and not (is_blocked and row.state == QUEUED):
                return False
            is_blocked = is_blocked or (row.state == DEAD and row.holds)
        return True

    def _passed(self, world: World, event: int) -> bool:
        return all(self._passes(DONE if there == DONE else there) for there in world.receipts[event])

    def _passes(self, result: str) -> bool:
        return result == DONE or (result == BURIED and not self.block)

    # The surroundings.

    def steps(self, world: World) -> Steps:
        yield from self._inbox(world)
        if world.paused:
            yield "lift", world._replace(paused=False)
        elif world.pauses < self.pauses:
            yield "pause", world._replace(paused=True, pauses=world.pauses + 1)
        for at, worker in enumerate(world.workers):
            if worker in world.workers[:at]:  # its twin has taken every step that it could
                continue
            others = world.workers[:at] + world.workers[at + 1 :]
            yield from getattr(self, f"_{worker.step}")(world, worker, others)
            if worker.step != "idle":
                yield f"crash (at {worker.step})", self._beside(world, others, IDLE)

    def _inbox(self, world: World) -> Steps:
        """What senders, clocks and operators do to events."""
        for event, row in enumerate(world.rows):
            if row.state == ABSENT:
                yield f"arrive ({event})", self._set(world, event, row._replace(state=READY))
            if row.state == HELD:
                holds = self.weakness != "admitted_does_not_hold"
                yield f"admit ({event})", self._set(world, event, row._replace(state=READY, holds=holds))
            if row.state == CLAIMED and event in self.untaken:
                unhandled = row._replace(state=UNHANDLED, holds=self.weakness == "claim_says_who_lets_pass")
                yield f"unhandled ({event})", self._promoted(self._set(world, event, unhandled))
            elif row.state == CLAIMED and not row.expired:
                yield f"expire ({event})", self._set(world, event, row._replace(expired=True))
            if row.state == DELAYED:
                yield f"wake ({event})", self._set(world, event, row._replace(state=READY))
            if row.state == PAUSED and not world.paused:
                yield f"resume ({event})", self._set(world, event, row._replace(state=READY))

    def _set(self, world: World, event: int, row: Row) -> World:
        return world._replace(rows=put(world.rows, event, row))

    def _beside(self, world: World, others: tuple[Worker, ...], worker: Worker) -> World:
        return world._replace(workers=tuple(sorted((*others, worker))))

    def _is_behind(self, world: World, event: int, mine: tuple[int, ...] = ()) -> bool:
        """Whether an earlier event, in whatever state, holds the lane and is not of the same claim."""
        return any(
            row.holds and row.state not in UNSEEN and row.state != DONE
            for earlier, row in enumerate(world.rows[:event])
            if earlier not in mine
        )

    # Claim: what is not behind, and what is queued right after it. What is behind is claimed, and queued.

    def _idle(self, world: World, _: Worker, others: tuple[Worker, ...]) -> Steps:
        taken: tuple[int, ...] = ()
        for event, row in enumerate(world.rows):
            is_free = self.weakness == "claims_by_arrival" or not row.holds or not self._is_behind(world, event, taken)
            if row.state == QUEUED and taken and is_free and len(taken) < 2:
                taken = (*taken, event)
            elif row.state == CLAIMED and row.expired:  # a suspect: alone
                alone = not row.holds or not self._is_behind(world, event)
                yield self._claimed(world, others, (event,), is_free=alone)
            elif row.state == READY and not is_free:
                yield self._claimed(world, others, (event,), is_free=False)
            elif row.state == READY and len(taken) < 2:
                taken = (*taken, event)
                if self.weakness == "claims_by_arrival":
                    yield self._claimed(world, others, (event,), is_free=True)
        if taken:
            yield self._claimed(world, others, taken, is_free=True)
            if len(taken) > 1:
                yield self._claimed(world, others, taken[:1], is_free=True)
        for event in self.sealed.intersection(taken):
            yield self._given_back(world, others, event, tuple(each for each in taken if each != event))

    def _given_back(
        self, world: World, others: tuple[Worker, ...], event: int, rest: tuple[int, ...]
    ) -> tuple[str, World]:
        """One that cannot be opened here. The claim looks at its lane again, now that this one is not its own."""
        label, world = f"give back ({event})", self._set(world, event, world.rows[event]._replace(state=DELAYED))
        if not rest:
            return label, self._beside(world, others, IDLE)
        is_free = self.weakness == "given_back_is_passed" or not self._is_behind(world, rest[-1], rest)
        return label, self._claimed(world, others, rest, is_free=is_free)[1]

    def _claimed(
        self, world: World, others: tuple[Worker, ...], events: tuple[int, ...], *, is_free: bool
    ) -> tuple[str, World]:
        known = tuple(row.state not in UNKNOWN for row in world.rows)
        held = []
        for event in events:
            row = world.rows[event]
            others = tuple(
                each._replace(held=tuple(h._replace(token=h.token and h.event != event) for h in each.held))
                for each in others
            )
            held.append(Hold(event, row.tries, () if is_free else ("queue",) * self.handlers))
            world = self._set(world, event, row._replace(state=CLAIMED, expired=False))
        worker = self._onwards(Worker("walk", tuple(held), known))
        return f"claim {events}{'' if is_free else ' behind'}", self._beside(world, others, worker)

    # Walk: event by event, and handler by handler; at the first event that is not passed the rest is dropped.

    def _onwards(self, worker: Worker) -> Worker:
        held = list(worker.held)
        is_stopped = False
        for at, hold in enumerate(held):
            if len(hold.results) < self.handlers and not is_stopped:
                return worker._replace(step="walk", at=at * self.handlers + len(hold.results), late=False)
            if len(hold.results) < self.handlers:
                held[at] = hold._replace(results=("queue",) * self.handlers)
            is_stopped = is_stopped or not all(map(self._goes_on, held[at].results))
        return Worker("settle", tuple(held))

    def _goes_on(self, result: str) -> bool:
        lenient = {"failure_goes_on": "retry", "unknown_goes_on": "later", "paused_goes_on": "paused"}
        return self._passes(result) or lenient.get(self.weakness) == result

    def _came_to(self, worker: Worker, result: str) -> Worker:
        at = worker.at // self.handlers
        hold = worker.held[at]
        return self._onwards(worker._replace(held=put(worker.held, at, hold._replace(results=(*hold.results, result)))))

    def _walk(self, world: World, worker: Worker, others: tuple[Worker, ...]) -> Steps:
        event, handler = worker.held[worker.at // self.handlers].event, worker.at % self.handlers
        if there := world.receipts[event][handler]:
            yield f"receive ({event}: {there})", self._beside(world, others, self._came_to(worker, there))
        elif world.paused and handler == 0:
            yield f"receive ({event}: paused)", self._beside(world, others, self._came_to(worker, "paused"))
        elif any(self._is_in_the_way(other, event, handler) for other in others):
            yield f"receive ({event}: busy)", self._beside(world, others, self._came_to(worker, "later"))
        else:
            late = world.marks[handler] > event + 1
            if self.weakness == "late_by_inbox":
                late = any(row.state == DONE for row in world.rows[event + 1 :])
            yield f"receive ({event}, {handler})", self._beside(world, others, worker._replace(step="open", late=late))

    def _is_in_the_way(self, other: Worker, event: int, handler: int) -> bool:
        """It holds the mark of this lane and handler, or the receipt itself."""
        if other.step != "open" or other.at % self.handlers != handler:
            return False
        return self.weakness != "mark_without_lock" or other.held[other.at // self.handlers].event == event

    def _open(self, world: World, worker: Worker, others: tuple[Worker, ...]) -> Steps:
        hold, handler = worker.held[worker.at // self.handlers], worker.at % self.handlers
        committed = self._committed(world, worker, hold.event, handler)
        yield "commit", self._beside(committed, others, self._came_to(worker, DONE))
        unknown = self._came_to(worker, "later")
        yield "commit (no answer, done)", self._beside(committed, others, unknown)
        yield "commit (no answer, undone)", self._beside(world, others, unknown)
        if hold.event in self.fails and handler == 0 and not hold.tries:
            yield f"fail ({hold.event})", self._beside(world, others, self._came_to(worker, "retry"))
        elif hold.event in self.fails and handler == 0:
            receipts = put(world.receipts, hold.event, put(world.receipts[hold.event], handler, BURIED))
            yield (
                f"bury ({hold.event})",
                self._beside(world._replace(receipts=receipts), others, self._came_to(worker, BURIED)),
            )

    def _committed(self, world: World, worker: Worker, event: int, handler: int) -> World:
        newer = any(each > event for each, by in world.log if by == handler)
        flaw = ""
        if (event, handler) in world.log:
            flaw = "I2: written twice"
        elif newer != worker.late:
            flaw = "I5: out of order, and not flagged late" if newer else "I5: flagged late, and nothing newer is there"
        elif any(worker.known[each] and not self._passed(world, each) for each in range(event)):
            flaw = "I5: overtook an event that was known at its claim"
        return world._replace(
            receipts=put(world.receipts, event, put(world.receipts[event], handler, DONE)),
            marks=put(world.marks, handler, max(world.marks[handler], event + 1)),
            log=(*world.log, (event, handler)),
            flaw=world.flaw or flaw,
        )

    # Settle: one transaction for what the worker holds, and for the lane.

    def _settle(self, world: World, worker: Worker, others: tuple[Worker, ...]) -> Steps:
        for other_dies in (False, True) if self.other_dies else (False,):
            settled = world
            for hold in worker.held:
                settled = self._settled(settled, hold, other_dies=other_dies and hold.event == 0)
            label = "settle (the other handler gave up)" if other_dies else "settle"
            if self.weakness == "promotes_afterwards" and settled.rows != world.rows:
                yield label, self._beside(settled, others, Worker("promote"))
            else:
                only_queues = all("queue" in hold.results for hold in worker.held)
                looks = not (self.weakness == "queues_without_looking" and only_queues)
                yield label, self._beside(self._promoted(settled) if looks else settled, others, IDLE)

    def _promote(self, world: World, _: Worker, others: tuple[Worker, ...]) -> Steps:
        yield "promote", self._beside(self._promoted(world), others, IDLE)

    def _settled(self, world: World, hold: Hold, *, other_dies: bool) -> World:
        row, results = world.rows[hold.event], hold.results
        if row.state in FINAL:
            return world
        passes = [self._passes(result) for result in results]
        passed = any(passes) if self.weakness == "one_of_two_passes" else all(passes)
        if other_dies and self.weakness == "waits_for_every_handler":
            passed = False
        row = row._replace(expired=False, holds=row.holds and not passed)
        if set(results) <= {DONE, BURIED}:
            state = DEAD if BURIED in results or other_dies else DONE
            return self._set(world, hold.event, row._replace(state=state))
        if not hold.token or world.rows[hold.event].state != CLAIMED:
            return world
        if "retry" in results or "later" in results:
            row = row._replace(state=DELAYED, tries=max(row.tries, int("retry" in results)))
        elif "queue" in results:
            row = row._replace(state=QUEUED)
        else:
            row = row._replace(state=PAUSED, holds=row.holds and self.weakness != "paused_does_not_hold")
        return self._set(world, hold.event, row)

    def _promoted(self, world: World) -> World:
        for event, row in enumerate(world.rows):
            if row.state == QUEUED and not self._is_behind(world, event):
                return self._set(world, event, row._replace(state=READY))
        return world

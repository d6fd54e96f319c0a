"""Three events, one of which kills every process that runs it, and processes with two hands each.

A hand claims a group of events; when its process dies, every event in every hand of it is left behind. Nobody knows
which of them was to blame. The rule of the code: what was left behind is a suspect and runs alone, and only what is
left behind while it runs alone is counted against it.

Alone is who runs in a process for suspects, of which there is one on each of two machines (`apart`), or in a worker
while none of its hands holds anything (`between`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Hands = tuple[tuple[int, ...], ...]

POISON = 0
EVENTS = 3
GROUP = 2
MACHINES, HANDS = 2, 2
CRASHES = 2
"""Of three in the code: enough to see that the count grows for one and not for the others."""


class Event(NamedTuple):
    where: str = "ready"
    """ready, held, left (its process died), done, dead."""
    suspect: bool = False
    crashes: int = 0


class World(NamedTuple):
    events: tuple[Event, ...]
    workers: tuple[Hands, ...]
    """By process and hand: the events that it holds."""
    apart: tuple[Hands, ...]
    """The same of the processes for suspects."""


Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Suspects:
    weakness: str = ""
    run: str = "apart"
    """Where suspects run: `apart`, or `between` the others."""

    def starts(self) -> Iterator[World]:
        idle = (((),) * HANDS,) * MACHINES
        yield World((Event(),) * EVENTS, idle, idle if self.run == "apart" else ())

    def steps(self, world: World) -> Steps:
        for kind in ("workers", "apart"):
            for process, hands in enumerate(getattr(world, kind)):
                if process and hands == getattr(world, kind)[process - 1]:
                    continue  # its twin has taken every step that it could
                for hand in range(HANDS):
                    yield from self._handle(world, kind, process, hand)
                    if not hands[hand]:
                        yield from self._claim(world, kind, process, hand)
                        yield from self._claim_suspect(world, kind, process, hand)

    def broken(self, world: World) -> str | None:
        for number, event in enumerate(world.events):
            if number != POISON and event.where == "dead":
                return "a neighbour is dead"
            if number != POISON and event.crashes:
                return "a crash is counted against a neighbour"
            if number == POISON and event.where == "done":
                return "the poison is done"
        return None

    def is_end(self, world: World) -> bool:
        return all(event.where in {"done", "dead"} for event in world.events)

    def _claim(self, world: World, kind: str, process: int, hand: int) -> Steps:
        if self._may_claim(world, kind, process):
            free = [number for number, event in enumerate(world.events) if self._is_free(event)]
            if free:
                taken = tuple(free[:GROUP])
                yield "claim", _hold(_mark(world, taken, where="held"), kind, process, hand, taken)

    def _is_free(self, event: Event) -> bool:
        return event.where == "ready" and (not event.suspect or self.weakness == "suspects_in_groups")

    def _may_claim(self, world: World, kind: str, process: int) -> bool:
        """A process for suspects claims nothing else; and while a suspect runs in a worker, nothing else begins."""
        if kind == "apart":
            return self.weakness == "others_in_their_process"
        held = [number for hand in world.workers[process] for number in hand]
        return self.weakness == "no_gate" or not any(world.events[number].suspect for number in held)

    def _claim_suspect(self, world: World, kind: str, process: int, hand: int) -> Steps:
        if not self._may_run_suspects(world, kind, process):
            return
        for number, event in enumerate(world.events):
            if event.where == "left" or (event.where == "ready" and event.suspect):
                counts = event.where == "left" and (event.suspect or self.weakness == "counts_at_once")
                crashes = min(CRASHES, event.crashes + counts)
                marked = _mark(world, (number,), where="held", suspect=True, crashes=crashes)
                yield "claim_suspect", _hold(marked, kind, process, hand, (number,))
                return

    def _may_run_suspects(self, world: World, kind: str, process: int) -> bool:
        is_idle = not any(getattr(world, kind)[process])
        if self.run == "apart":
            many = self.weakness in {"two_at_a_time", "others_in_their_process"}
            return kind == "apart" and (is_idle or many)
        return is_idle or self.weakness == "no_gate"

    def _handle(self, world: World, kind: str, process: int, hand: int) -> Steps:
        held = getattr(world, kind)[process][hand]
        if not held:
            return
        yield "settle (release)", _hold(_mark(world, held, where="ready"), kind, process, hand, ())
        if self.weakness == "killed_at_a_stop":
            yield "kill", _end(world, kind, process)  # instead of giving back what it holds, as above
        if any(world.events[number].crashes >= CRASHES for number in held):
            yield "bury", _hold(_mark(world, held, where="dead"), kind, process, hand, ())
        elif POISON in held:
            yield "crash", _end(world, kind, process)
        else:
            yield "commit", _hold(_mark(world, held, where="done"), kind, process, hand, ())


def _end(world: World, kind: str, process: int) -> World:
    processes = getattr(world, kind)
    left = _mark(world, tuple(number for hand in processes[process] for number in hand), where="left")
    return _with(left, kind, _put(processes, process, ((),) * HANDS))


def _mark(world: World, numbers: tuple[int, ...], **new: Any) -> World:
    events = list(world.events)
    for number in numbers:
        events[number] = events[number]._replace(**new)
    return world._replace(events=tuple(events))


def _hold(world: World, kind: str, process: int, hand: int, numbers: tuple[int, ...]) -> World:
    processes = getattr(world, kind)
    hands = tuple(sorted(_put(processes[process], hand, numbers)))
    return _with(world, kind, _put(processes, process, hands))


def _with(world: World, kind: str, processes: tuple[Hands, ...]) -> World:
    # Sorted, because the names of processes and hands make no difference.
    alike = tuple(sorted(processes))
    return world._replace(workers=alike) if kind == "workers" else world._replace(apart=alike)


def _put(row: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*row[:at], value, *row[at + 1 :])

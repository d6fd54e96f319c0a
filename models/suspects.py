"""Three events, one of which kills every process that runs it, and two processes of two hands each.

A hand claims a group of events; when its process dies, every event in every hand of it is left behind. Nobody knows
which of them was to blame. The rule of the code: what was left behind is a suspect and runs alone, and only what is
left behind while it runs alone is counted against it.
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
PROCESSES, HANDS = 2, 2
CRASHES = 2
"""Of three in the code: enough to see that the count grows for one and not for the others."""


class Event(NamedTuple):
    where: str = "ready"
    """ready, held, left (its process died), done, dead."""
    suspect: bool = False
    crashes: int = 0


class World(NamedTuple):
    events: tuple[Event, ...]
    processes: tuple[Hands, ...]
    """By process and hand: the events that it holds."""


Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Suspects:
    weakness: str = ""

    def starts(self) -> Iterator[World]:
        yield World((Event(),) * EVENTS, (((),) * HANDS,) * PROCESSES)

    def steps(self, world: World) -> Steps:
        for process in range(PROCESSES):
            if process and world.processes[process] == world.processes[process - 1]:
                continue  # its twin has taken every step that it could
            for hand in range(HANDS):
                if not world.processes[process][hand]:
                    yield from self._claim(world, process, hand)
                    yield from self._claim_suspect(world, process, hand)
                else:
                    yield from self._handle(world, process, hand)

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

    def _claim(self, world: World, process: int, hand: int) -> Steps:
        if self._gated(world, process):
            return
        free = [number for number, event in enumerate(world.events) if self._is_free(event)]
        if free:
            taken = tuple(free[:GROUP])
            yield "claim", _hold(_mark(world, taken, where="held"), process, hand, taken)

    def _is_free(self, event: Event) -> bool:
        return event.where == "ready" and (not event.suspect or self.weakness == "suspects_in_groups")

    def _gated(self, world: World, process: int) -> bool:
        """A suspect runs in this process: nothing else may begin."""
        held = [number for hand in world.processes[process] for number in hand]
        return self.weakness != "no_gate" and any(world.events[number].suspect for number in held)

    def _claim_suspect(self, world: World, process: int, hand: int) -> Steps:
        if self.weakness != "no_gate" and any(world.processes[process]):
            return
        for number, event in enumerate(world.events):
            if event.where == "left" or (event.where == "ready" and event.suspect):
                counts = event.where == "left" and (event.suspect or self.weakness == "counts_at_once")
                crashes = min(CRASHES, event.crashes + counts)
                yield "claim_suspect", self._taken_alone(world, process, hand, number, crashes)
                return

    def _taken_alone(self, world: World, process: int, hand: int, number: int, crashes: int) -> World:
        marked = _mark(world, (number,), where="held", suspect=True, crashes=crashes)
        return _hold(marked, process, hand, (number,))

    def _handle(self, world: World, process: int, hand: int) -> Steps:
        held = world.processes[process][hand]
        yield "settle (release)", _hold(_mark(world, held, where="ready"), process, hand, ())
        if any(world.events[number].crashes >= CRASHES for number in held):
            yield "bury", _hold(_mark(world, held, where="dead"), process, hand, ())
        elif POISON in held:
            everything = tuple(number for each in world.processes[process] for number in each)
            left = _mark(world, everything, where="left")
            yield "crash", left._replace(processes=_sorted(_put(left.processes, process, ((),) * HANDS)))
        else:
            yield "commit", _hold(_mark(world, held, where="done"), process, hand, ())


def _mark(world: World, numbers: tuple[int, ...], **new: Any) -> World:
    events = list(world.events)
    for number in numbers:
        events[number] = events[number]._replace(**new)
    return world._replace(events=tuple(events))


def _hold(world: World, process: int, hand: int, numbers: tuple[int, ...]) -> World:
    hands = tuple(sorted(_put(world.processes[process], hand, numbers)))
    return world._replace(processes=_sorted(_put(world.processes, process, hands)))


def _put(row: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*row[:at], value, *row[at + 1 :])


def _sorted(row: tuple[Hands, ...]) -> tuple[Hands, ...]:
    return tuple(sorted(row))

"""One worker of two hands and a look for suspects, and two events: a good one, and one whose handler cancels its own
task.

The rule of the code: a cancellation is the worker's only if the worker asked for it. What a handler does to its task is
a failed attempt. A loop that ends while nobody stops it ends its worker, and the supervisor starts another.

To end a worker is to cancel its other loops and to wait for them. One that is inside of a COMMIT may swallow its
cancellation; it is cancelled again, and after that the worker ends without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

GOOD, BAD = 0, 1
IDLE, GONE = -1, -2
SUSPECTS = 2
"""The number of the loop that looks for suspects; those before it are hands."""
ATTEMPTS = 2


class Event(NamedTuple):
    where: str = "ready"
    """ready, held, left (its lease ran out, or its worker died), done, dead."""
    tries: int = 0


class World(NamedTuple):
    events: tuple[Event, ...] = (Event(), Event())
    loops: tuple[int, ...] = (IDLE, IDLE, IDLE)
    """The event that each holds, IDLE, or GONE."""
    waits_for: int | None = None
    """The loop that swallowed its cancellation while all are to end. The worker does nothing else meanwhile."""
    crashes: int = 1
    bugs: int = 1
    stops: int = 1
    swallows: int = 1
    """How often each may still happen: a worker that is killed again and again has all its loops again, too."""


Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Loops:
    weakness: str = ""

    def starts(self) -> Iterator[World]:
        yield World()

    def steps(self, world: World) -> Steps:
        if world.waits_for is not None:
            yield from self._wait(world)
            return
        for loop, holds in enumerate(world.loops):
            if holds == IDLE:
                yield from self._claim(world, loop)
            if holds >= 0:
                yield from self._handle(world, loop, holds)
            if holds != GONE and world.bugs:
                yield "end (a bug)", self._ended(world._replace(bugs=0), loop)
                yield from self._swallow(world, loop)
        for number, event in enumerate(world.events):
            if event.where == "held" and number not in world.loops:
                yield "expire", _mark(world, number, where="left")
        if world.crashes:
            yield "crash", _restarted(world._replace(crashes=0))
        if world.stops:
            yield "stop", self._stopped(world._replace(stops=0))

    def broken(self, world: World) -> str | None:
        if world.events[GOOD].tries:
            return "an attempt is counted against an event that did nothing wrong"
        if world.events[BAD].where == "done":
            return "a cancelled handler is done"
        return None

    def is_end(self, world: World) -> bool:
        return all(event.where in {"done", "dead"} for event in world.events)

    def _claim(self, world: World, loop: int) -> Steps:
        wanted, name = ("left", "claim_suspect") if loop == SUSPECTS else ("ready", "claim")
        for number, event in enumerate(world.events):
            if event.where == wanted:
                yield name, _put(_mark(world, number, where="held"), loop, number)

    def _handle(self, world: World, loop: int, number: int) -> Steps:
        if number == GOOD:
            yield "commit", _put(_mark(world, number, where="done"), loop, IDLE)
        elif self.weakness == "any_cancellation_is_the_stop":
            # Its task ends cancelled, as at a stop: nobody misses it, and the event stays claimed until its lease ends.
            yield "cancel (taken for the stop)", _put(world, loop, GONE)
        else:
            yield "cancel (an attempt)", _put(_failed(world, number), loop, IDLE)

    def _ended(self, world: World, loop: int) -> World:
        return _put(world, loop, GONE) if self.weakness == "ends_in_silence" else _restarted(world)

    def _swallow(self, world: World, ended: int) -> Steps:
        """A loop ends, the others are cancelled, and one that holds an event takes that for an outage."""
        for loop, holds in enumerate(world.loops):
            if holds >= 0 and loop != ended and world.swallows:
                rest = tuple(each if number == loop else GONE for number, each in enumerate(world.loops))
                yield "swallow", world._replace(loops=rest, bugs=0, swallows=0, waits_for=loop)

    def _wait(self, world: World) -> Steps:
        """Its lease is renewed as long as the process lives, so nobody else takes its event."""
        if self.weakness != "waits_for_all":
            yield "cancel again, or go without it", _restarted(world._replace(waits_for=None))

    def _stopped(self, world: World) -> World:
        """What is in hand is cancelled by the worker itself. Then its successor starts."""
        if self.weakness == "no_cancellation_is_the_stop":
            for number in world.loops:
                world = _failed(world, number) if number >= 0 else world
        return _restarted(world)


def _failed(world: World, number: int) -> World:
    tries = world.events[number].tries + 1
    return _mark(world, number, where="dead" if tries >= ATTEMPTS else "ready", tries=tries)


def _restarted(world: World) -> World:
    """The supervisor starts another worker, and ends the leases of the one before."""
    for number, event in enumerate(world.events):
        if event.where == "held":
            world = _mark(world, number, where="left")
    return world._replace(loops=(IDLE, IDLE, IDLE))


def _mark(world: World, number: int, **new: Any) -> World:
    events = list(world.events)
    events[number] = events[number]._replace(**new)
    return world._replace(events=tuple(events))


def _put(world: World, loop: int, holds: int) -> World:
    return world._replace(loops=(*world.loops[:loop], holds, *world.loops[loop + 1 :]))

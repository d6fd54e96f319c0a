"""One event, a sender that repeats it until it is answered, and an intake that may die at every step.

A cache that knows an event answers at once. So what it knows must be durable, or the sender's retry is swallowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

REQUESTS = 2
"""Deliveries under way at a time: the sender's retry overtakes the first."""


class World(NamedTuple):
    requests: tuple[str, ...]
    """Of each: the step that it waits for, or "" for none."""
    known: bool
    """In the cache, which a crash empties unless it is shared."""
    stored: int
    answered: bool


Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Intake:
    weakness: str = ""

    def starts(self) -> Iterator[World]:
        yield World(("",) * REQUESTS, known=False, stored=0, answered=False)

    def steps(self, world: World) -> Steps:
        for at, step in enumerate(world.requests):
            if step:
                yield from self._on(world, at, step)
            elif not world.answered:
                yield "deliver", _at(world, at, "seen")
        if any(world.requests):
            # The cache outlives us, or it does not: Redis, or a dictionary.
            yield "crash", world._replace(requests=("",) * REQUESTS)
            yield "crash (and the cache)", world._replace(requests=("",) * REQUESTS, known=False)

    def broken(self, world: World) -> str | None:
        if world.answered and not world.stored and not any(world.requests):
            return "I1: answered and not stored"
        return "I2: stored twice" if world.stored > 1 else None

    def is_end(self, world: World) -> bool:
        return world.answered and not any(world.requests)

    def _on(self, world: World, at: int, step: str) -> Steps:
        if step == "seen":
            yield "seen", _at(world, at, "answer" if world.known else self._first)
        elif step == "record":
            stored = world.stored + 1 if self.weakness == "no_unique_key" else 1
            yield "record", _at(world._replace(stored=min(2, stored)), at, self._after_record)
            yield "record (refused)", _at(world, at, "")
        elif step == "remember":
            then = "record" if self.weakness == "remember_first" else "answer"
            yield "remember", _at(world._replace(known=True), at, then)
        elif step == "answer":
            then = "record" if self.weakness == "answer_first" and not world.stored else ""
            yield "answer", _at(world._replace(answered=True), at, then)

    @property
    def _first(self) -> str:
        return {"remember_first": "remember", "answer_first": "answer"}.get(self.weakness, "record")

    @property
    def _after_record(self) -> str:
        return {"remember_first": "answer", "answer_first": "remember"}.get(self.weakness, "remember")


def _at(world: World, at: int, step: str) -> World:
    return world._replace(requests=tuple(sorted((*world.requests[:at], step, *world.requests[at + 1 :]))))

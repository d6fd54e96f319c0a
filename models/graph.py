"""Two effects, a third that was staged after both, and workers that finish them in transactions of the ledger.

What the code does when an effect was performed is one transaction: it locks the effect's own row and says that it is
done, locks the row of whoever waits for it and takes one from its count, and makes it ready at zero. A worker may be
killed between any two statements: what it has not committed is gone. Each statement sees what others have committed by
then, and a row that another transaction has changed is waited for.

Left out: tries, dead letters and times, which change nothing about who is free when.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

FIRST, SECOND, LAST = 0, 1, 2
WORKERS = 2


class Work(NamedTuple):
    """What a worker is at. Nothing but what is committed outlives it."""

    effect: int = -1
    token: int = 0
    step: str = "idle"
    """idle, performed (outside), finished (its row says done, uncommitted), freed (the other's row, too), between."""
    seen: int = -1
    """How many others it saw unfinished, where it looks at them instead of counting."""


class World(NamedTuple):
    states: tuple[str, str, str] = ("ready", "ready", "waiting")
    tokens: tuple[int, int, int] = (0, 0, 0)
    """Of the last claim: a lease that ran out, or whose worker was killed, is claimed again under the next one."""
    waits: int = 2
    workers: tuple[Work, ...] = (Work(),) * WORKERS
    too_early: bool = False


Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Graph:
    weakness: str = ""
    tokens: int = 2
    """Claims of one effect at most."""

    def starts(self) -> Iterator[World]:
        yield World()

    def steps(self, world: World) -> Steps:
        for number, work in enumerate(world.workers):
            if work.step == "idle":
                yield from self._claim(world, number)
                continue
            if (
                work.token < self.tokens
            ):  # what it has not committed is gone; under the last token somebody gets it done
                yield "kill", _at(world, number, Work())
            yield from self._go_on(world, number, work)

    def broken(self, world: World) -> str | None:
        return "a step was performed before all that it waits for were done" if world.too_early else None

    def is_end(self, world: World) -> bool:
        return all(state == "done" for state in world.states)

    def _claim(self, world: World, number: int) -> Steps:
        for effect, state in enumerate(world.states):
            token = world.tokens[effect] + 1
            # One that is claimed may be claimed by another at any moment: leases run out under who lives on.
            is_free = state == "ready" or (state == "claimed" and token <= self.tokens)
            if not is_free or _is_locked(world, effect):
                continue
            work = Work(effect, token, "performed")
            early = effect == LAST and world.states[:2] != ("done", "done")
            claimed = world._replace(
                states=_put(world.states, effect, "claimed"),
                tokens=_put(world.tokens, effect, token),
                too_early=world.too_early or early,
            )
            yield "claim", _at(claimed, number, work)

    def _go_on(self, world: World, number: int, work: Work) -> Steps:
        holds = world.tokens[work.effect] == work.token and world.states[work.effect] == "claimed"
        if work.step == "performed":
            if not holds:
                yield "walk_away", _at(world, number, Work())
            elif not _is_locked(world, work.effect):
                yield "finish", _at(world, number, work._replace(step="finished"))
        elif work.step == "finished":
            yield from self._free(world, number, work)
        elif work.step == "freed":
            yield "commit", self._committed(world, number, work)
        elif work.step == "between":
            yield "free_later", _at(_freed(world, 1), number, Work())

    def _free(self, world: World, number: int, work: Work) -> Steps:
        if work.effect == LAST:
            yield "free", _at(world, number, work._replace(step="freed"))
        elif self.weakness == "in_two_transactions":
            done = world._replace(states=_put(world.states, work.effect, "done"))
            yield "commit_first", _at(done, number, work._replace(step="between"))
        elif self.weakness == "looks_at_the_others":
            # What another transaction has not committed yet is not seen, and nobody waits for it.
            unfinished = sum(world.states[each] != "done" for each in (FIRST, SECOND) if each != work.effect)
            yield "look", _at(world, number, work._replace(step="freed", seen=unfinished))
        elif self.weakness == "any_of_them_frees":
            yield "free", _at(world, number, work._replace(step="freed", seen=0))
        elif not any(each.step == "freed" and each.effect != LAST for each in world.workers):  # its row is locked
            yield "free", _at(world, number, work._replace(step="freed"))

    def _committed(self, world: World, number: int, work: Work) -> World:
        done = world._replace(states=_put(world.states, work.effect, "done"))
        if work.effect != LAST:
            done = _freed(done, 1) if work.seen < 0 else _freed(done, world.waits) if work.seen == 0 else done
        return _at(done, number, Work())


def _freed(world: World, fewer: int) -> World:
    waits = max(0, world.waits - fewer)
    is_free = waits == 0 and world.states[LAST] == "waiting"
    return world._replace(waits=waits, states=_put(world.states, LAST, "ready") if is_free else world.states)


def _is_locked(world: World, effect: int) -> bool:
    return any(work.effect == effect and work.step in {"finished", "freed"} for work in world.workers)


def _at(world: World, number: int, work: Work) -> World:
    workers = (*world.workers[:number], work, *world.workers[number + 1 :])
    return world._replace(workers=tuple(sorted(workers)))


def _put(row: tuple, at: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*row[:at], value, *row[at + 1 :])

"""A step that waits for another event: who stages the wait, who handles the event, and who notices the deadline.

The waiter and the comer each have a transaction of the ledger. Both lock the arrival's row first; then each looks at
what the other has committed. The waiter commits a row that waits, or one that is done already. The comer notes that the
event was handled, and ends what waits for it, in one COMMIT. A worker claims what waits once its deadline is over,
looks whether the event was handled, and writes down what it found unless the row is over by then. Each may be killed
between any two statements: what it has not committed is gone, and its event, or the lease, is claimed again. Whoever
finds its own receipt has nothing left to do.

Left out: the step itself, which `models/graph.py` has, and how long ago the event was handled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

OVER = frozenset({"came", "timed_out"})


class World(NamedTuple):
    waiter: str = "idle"
    """idle, locked, looked, committed."""
    comer: str = "idle"
    """idle, locked, noted, ended (uncommitted), between (two transactions), committed."""
    worker: str = "idle"
    """idle, claimed, looked."""
    waiter_saw: bool = False
    comer_saw: bool = False
    worker_saw: bool = False
    handled: bool = False
    """The event, and it is committed."""
    wait: str = "absent"
    """What is committed of the row that waits: absent, waiting, claimed, came, timed_out."""
    ends: int = 0
    """How often it came to an end."""
    kills: int = 0


Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Arrivals:
    weakness: str = ""
    kills: int = 2

    def starts(self) -> Iterator[World]:
        yield World()

    def steps(self, world: World) -> Steps:
        yield from self._wait(world)
        yield from self._come(world)
        yield from self._notice(world)
        if world.kills < self.kills:
            killed = world._replace(kills=world.kills + 1)
            if world.waiter in {"locked", "looked"}:
                yield "kill_waiter", killed._replace(waiter="idle")
            if world.comer in {"locked", "noted", "ended"}:
                yield "kill_comer", killed._replace(comer="idle")
            if world.comer == "between":  # its receipt is there: nobody runs it again
                yield "kill_comer", killed._replace(comer="committed")
            if world.worker != "idle":
                yield "kill_worker", killed._replace(worker="idle")

    def broken(self, world: World) -> str | None:
        if world.ends > 1:
            return "what waits came to an end twice"
        if world.waiter == world.comer == "committed" and world.wait not in OVER and world.worker == "idle":
            return "the event was handled, and who waits for it was not told"
        return None

    def is_end(self, world: World) -> bool:
        return world.waiter == world.comer == "committed" and world.wait in OVER and world.worker == "idle"

    def _wait(self, world: World) -> Steps:
        if world.waiter == "idle":
            saw = world.handled if self.weakness == "looks_before_it_locks" else False
            if self.weakness == "no_lock" or not _is_locked(world.comer):
                yield "lock", world._replace(waiter="locked", waiter_saw=saw)
            elif self.weakness == "looks_before_it_locks" and not world.waiter_saw:
                yield "look_early", world._replace(waiter="early")
        elif world.waiter == "early":
            if not _is_locked(world.comer):
                yield "lock", world._replace(waiter="locked")
        elif world.waiter == "locked":
            saw = world.waiter_saw if self.weakness == "looks_before_it_locks" else world.handled
            if self.weakness == "never_looks_back":
                saw = False
            yield "look", world._replace(waiter="looked", waiter_saw=saw)
        elif world.waiter == "looked":
            staged = world._replace(waiter="committed", wait="came" if world.waiter_saw else "waiting")
            yield "commit_wait", staged._replace(ends=world.ends + world.waiter_saw)

    def _come(self, world: World) -> Steps:
        if world.comer == "idle":
            if self.weakness == "no_lock" or not _is_locked(world.waiter):
                yield "lock_arrival", world._replace(comer="locked")
        elif world.comer == "locked":
            yield "find_waits", world._replace(comer="noted", comer_saw=world.wait != "absent")
        elif world.comer == "noted":
            if self.weakness == "tells_afterwards":
                yield "commit_first", world._replace(comer="between", handled=True)
            else:
                yield "end_waits", world._replace(comer="ended")
        elif world.comer == "between":
            yield "tell", _told(world, is_seen=world.wait != "absent")
        elif world.comer == "ended":
            yield "commit_arrival", _told(world._replace(handled=True), is_seen=world.comer_saw)

    def _notice(self, world: World) -> Steps:
        is_held = world.comer == "ended" and world.comer_saw  # the row is locked by who ends it
        if world.worker == "idle" and world.wait in {"waiting", "claimed"} and not is_held:
            yield "claim", world._replace(worker="claimed", wait="claimed")
        elif world.worker == "claimed":
            yield "look_at_deadline", world._replace(worker="looked", worker_saw=world.handled)
        elif world.worker == "looked" and not is_held:
            walks_away = world.wait != "claimed" and self.weakness != "settles_what_is_over"
            ended = world._replace(worker="idle")
            if not walks_away:
                ended = ended._replace(wait="came" if world.worker_saw else "timed_out", ends=world.ends + 1)
            yield "settle", ended


def _told(world: World, *, is_seen: bool) -> World:
    committed = world._replace(comer="committed")
    if is_seen and world.wait not in OVER:
        return committed._replace(wait="came", ends=world.ends + 1)
    return committed


def _is_locked(phase: str) -> bool:
    return phase in {"locked", "looked", "noted", "ended"}

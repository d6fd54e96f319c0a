"""The nouns of the protocol as `receipt_first` sees them, and what must hold of them.

Workers are interchangeable, so a world keeps them sorted, and each knows by itself whether its token is the current
one. A dead worker is an idle one, and counters stop at their limits: the worlds are finitely many without any bound on
crashes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

ATTEMPTS = 2
CRASHES = 1
"""Crashes while alone that make a dead letter. The code allows three; the second and third bring nothing new."""

MOVES = {
    ("ready", "claim"): "claimed",
    ("claimed", "claim"): "claimed",
    ("claimed", "release"): "ready",
    ("claimed", "postpone"): "delayed",
    ("claimed", "retry"): "delayed",
    ("claimed", "no_handler"): "unhandled",
    ("claimed", "refuse"): "dead",
    ("ready", "finish"): "done",
    ("claimed", "finish"): "done",
    ("delayed", "finish"): "done",
    ("unhandled", "finish"): "done",
    ("ready", "bury"): "dead",
    ("claimed", "bury"): "dead",
    ("delayed", "bury"): "dead",
    ("unhandled", "bury"): "dead",
    ("delayed", "wake"): "ready",
    ("unhandled", "requeue"): "ready",
    ("unhandled", "replay"): "ready",
    ("done", "replay"): "ready",
    ("dead", "replay"): "ready",
}
"""The lifecycle as this model has it; a test compares it with `landfast.domain.lifecycle`."""

RECEIPT_SIGNALS = frozenset({"finish", "bury"})
NONE, DONE, DEAD = "", "done", "dead"
OPEN = frozenset({"handle", "stage", "commit"})
"""Steps at which a worker's transaction holds receipts that nobody else sees yet."""
EFFECT_STEPS = frozenset({"perform", "settle_effect"})


class Worker(NamedTuple):
    step: str = "idle"
    run: int = 0
    forced: bool = False
    holds: bool = False
    """Its token is the current one."""
    tries: tuple[int, ...] = ()
    """As they were when it claimed."""
    handler: int = 0
    results: tuple[str, ...] = ()
    """By handler: "" (to run), done, buried, retry, last (to be buried), untombed (could not be), later, gone."""
    signal: str = ""
    """Decided without running anything."""
    looks_back: bool = False
    """The event was claimed before: the ledger is asked about handlers that are gone."""


IDLE = Worker()


class World(NamedTuple):
    workers: tuple[Worker, ...]
    state: str
    run: int
    forced: tuple[bool, ...]
    """By run."""
    tries: tuple[int, ...]
    """By handler, in this run."""
    suspect: bool
    crashes: int
    expired: bool
    malformed: bool
    at_fault: bool
    """A handler of this run failed by itself. Only the invariants look at it."""
    receipts: tuple[tuple[str, ...], ...]
    """By handler and run, committed ones only."""
    writes: tuple[tuple[int, ...], ...]
    effects: tuple[str, ...]
    """By run, of the first handler: "", ready, claimed, done."""
    performed: tuple[bool, ...]
    gone: bool = False
    """A deploy took the first handler out of the code."""
    tombed: bool = False
    """The event remembers that a handler of this run has a tombstone."""


def begin(*, workers: int, handlers: int, runs: int, malformed: bool) -> World:
    return World(
        workers=(IDLE,) * workers,
        state="ready",
        run=1,
        forced=(False,) * runs,
        tries=(0,) * handlers,
        suspect=False,
        crashes=0,
        expired=False,
        malformed=malformed,
        at_fault=False,
        receipts=((NONE,) * runs,) * handlers,
        writes=((0,) * runs,) * handlers,
        effects=(NONE,) * runs,
        performed=(False,) * runs,
    )


def is_end(world: World) -> bool:
    return world.state in {"done", "dead"} and _at_rest(world) and not {"ready", "claimed"} & set(world.effects)


def broken(world: World) -> str | None:
    """The invariant of FAULTS that does not hold: some hold always, some when nobody is in the middle of anything."""
    return (
        _doubled(world)
        or _two_owners(world)
        or (_unfounded(world) if _at_rest(world) else None)
        or (_wrong_end(world) if is_end(world) else None)
    )


def put(row: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*row[:at], value, *row[at + 1 :])


def beside(world: World, others: tuple[Worker, ...], worker: Worker) -> World:
    return world._replace(workers=tuple(sorted((*others, worker))))


def next_run(world: World, *, forced: bool) -> World:
    return world._replace(
        run=world.run + 1,
        forced=put(world.forced, world.run, forced),
        tries=(0,) * len(world.tries),
        suspect=False,
        crashes=0,
        at_fault=False,
        tombed=False,
    )


def _at_rest(world: World) -> bool:
    return all(worker.step == "idle" for worker in world.workers)


def _doubled(world: World) -> str | None:
    for receipts, writes in zip(world.receipts, world.writes, strict=True):
        for run, count in enumerate(writes):
            if count > 1:
                return "I2: written twice in one run"
            if count and run and not world.forced[run] and any(writes[:run]):
                return "I8: an unforced replay repeats what is done"
            if count and receipts[run] == DEAD:
                return "I4: a tombstone over writes"
    return None


def _two_owners(world: World) -> str | None:
    if world.expired or world.state not in {"ready", "delayed", "unhandled"}:
        return None
    if any(each.holds and each.run == world.run and each.step not in EFFECT_STEPS for each in world.workers):
        return "I11: taken from the holder of a living lease"
    return None


def _unfounded(world: World) -> str | None:
    if any(done and receipt != DONE for done, receipt in zip(world.performed, world.receipts[0], strict=True)):
        return "I9: performed an effect that was not committed"
    return None


def _wrong_end(world: World) -> str | None:
    now = world.run - 1
    known = world.writes[1:] if world.gone else world.writes
    if world.state == "done" and not all(writes[now] if world.forced[now] else any(writes) for writes in known):
        return "I4: done without its writes"
    if world.state == "done" and any(receipts[now] == DEAD for receipts in world.receipts):
        return "I4: done over a tombstone"
    if world.state == "dead" and all(writes[now] if world.forced[now] else any(writes) for writes in world.writes):
        return "I4: dead, and every write happened"
    if world.state == "dead" and not (world.at_fault or world.malformed or world.crashes >= CRASHES):
        return "I4: dead, and nothing was wrong with it"
    if any(effect == "done" and not done for effect, done in zip(world.effects, world.performed, strict=True)):
        return "I9: committed, and its effect was never performed"
    return None

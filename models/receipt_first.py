"""One event, a few workers, one or two handlers, and everything that may happen between them.

Each action is a step of the code that a process can die before or after, and has the name of that step. A worker may
die wherever it stands. A lease may run out under a worker that lives on as a zombie. The answer to a COMMIT may be
lost, whether the COMMIT happened or not. An operator replays, by force and without, while zombies of earlier runs still
hold open transactions. A worker of an older deploy knows no handler and shelves the event. A deploy takes a handler out
of the code while its event waits for another one; no worker of the old code is in the middle of anything then.

Left out: `recover` (a ledger that lost its tail), groups (see `suspects`), intake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from models import world as worlds
from models.world import (
    ATTEMPTS,
    CRASHES,
    DEAD,
    DONE,
    EFFECT_STEPS,
    IDLE,
    MOVES,
    NONE,
    OPEN,
    RECEIPT_SIGNALS,
    Worker,
    World,
    beside,
    next_run,
    put,
)

Others = tuple[Worker, ...]
Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Design:
    """What is explored, and at most one way in which it is weaker than the code."""

    workers: int = 2
    handlers: int = 1
    runs: int = 1
    deploys: bool = False
    """Workers of an older version come by, and bodies that cannot be decoded."""
    removes: bool = False
    """A deploy takes the first handler away."""
    effects: bool = False
    weakness: str = ""
    moves: set[tuple[str, str]] = field(default_factory=set, compare=False)
    """Those of MOVES that were made."""

    @property
    def _alone(self) -> frozenset[str]:
        """Steps that nobody else can see or prevent. To take them before anything else loses no world that matters, and
        halves their number."""
        return frozenset({"begin"} if self.weakness == "effect_before_commit" else {"begin", "stage"})

    def starts(self) -> Iterator[World]:
        for malformed in (False, True) if self.deploys else (False,):
            yield worlds.begin(workers=self.workers, handlers=self.handlers, runs=self.runs, malformed=malformed)

    def steps(self, world: World) -> Steps:
        for at, worker in enumerate(world.workers):
            if worker.step in self._alone:
                yield from self._next(world, worker, world.workers[:at] + world.workers[at + 1 :])
                return
        yield from self._surroundings(world)
        for at, worker in enumerate(world.workers):
            if worker in world.workers[:at]:  # its twin has taken every step that it could
                continue
            others = world.workers[:at] + world.workers[at + 1 :]
            yield from self._next(world, worker, others)
            if worker.step != "idle":
                yield f"crash (at {worker.step})", beside(world, others, IDLE)

    def broken(self, world: World) -> str | None:
        return worlds.broken(world)

    def is_end(self, world: World) -> bool:
        return worlds.is_end(world)

    def _next(self, world: World, worker: Worker, others: Others) -> Steps:
        step: Callable[[World, Worker, Others], Steps] = getattr(self, f"_{worker.step}")
        return step(world, worker, others)

    # The surroundings: time, operators, deploys.

    def _surroundings(self, world: World) -> Steps:
        if world.state == "claimed" and not world.expired:
            yield "expire", world._replace(expired=True)
        if woken := self._moved(world, "wake"):
            yield "wake", woken
        if requeued := self._moved(world, "requeue"):
            yield "requeue", requeued
        if world.run < self.runs and (back := self._moved(world, "replay")):
            yield "replay", next_run(back, forced=False)
            yield "replay (forced)", next_run(back, forced=True)
        if self.removes and not world.gone and all(worker.step == "idle" for worker in world.workers):
            yield "deploy (without the first handler)", world._replace(gone=True)
        for run, effect in enumerate(world.effects):
            if effect == "claimed":
                yield "expire (of an effect)", world._replace(effects=put(world.effects, run, "ready"))

    def _moved(self, world: World, signal: str) -> World | None:
        state = MOVES.get((world.state, signal))
        if state is None:
            return None
        self.moves.add((world.state, signal))
        return world._replace(state=state, expired=False)

    # The steps of a worker, in the order in which it takes them.

    def _idle(self, world: World, _: Worker, others: Others) -> Steps:
        if taken := self._leased(world):
            name = "claim_suspect" if taken.suspect else "claim"
            fenced = tuple(each if each.step in EFFECT_STEPS else each._replace(holds=False) for each in others)
            looks = taken.suspect or any(taken.tries) or taken.tombed or taken.run > 1
            forced = taken.forced[taken.run - 1]
            given = Worker(
                run=taken.run, forced=forced, holds=True, tries=taken.tries, looks_back=self.removes and looks
            )
            yield name, beside(taken, fenced, _prepared(taken, given))
            if self.deploys:
                yield f"{name} (stopping)", beside(taken, fenced, given._replace(step="settle", signal="release"))
                yield f"{name} (older)", beside(taken, fenced, given._replace(step="settle", signal="no_handler"))
        if "ready" in world.effects:
            run = world.effects.index("ready") + 1
            leased = world._replace(effects=put(world.effects, run - 1, "claimed"))
            fenced = tuple(_without_effect(each, run) for each in others)
            yield "claim_effect", beside(leased, fenced, Worker(step="perform", run=run, holds=True))

    def _leased(self, world: World) -> World | None:
        if world.state == "claimed" and not world.expired:
            return None
        taken = self._moved(world, "claim")
        if taken is None or world.state == "ready":
            return taken
        return taken._replace(suspect=True, crashes=min(CRASHES, world.crashes + world.suspect))

    def _begin(self, world: World, worker: Worker, others: Others) -> Steps:
        yield "begin", beside(world, others, worker._replace(step="reserve"))

    def _reserve(self, world: World, worker: Worker, others: Others) -> Steps:
        receipts, run = world.receipts[worker.handler], worker.run - 1
        if self.weakness == "no_receipt":
            yield "reserve (nothing)", beside(world, others, worker._replace(step="handle"))
        elif receipts[run] != NONE or DONE in self._earlier(receipts, worker):
            found = "buried" if receipts[run] == DEAD else "done"
            yield f"reserve ({found})", beside(world, others, _came_to(worker, found))
        elif any(self._collide(worker, other) for other in others):
            # It waits for the other, as a unique index makes it, but for a second at most.
            yield "reserve (busy)", beside(world, others, _came_to(worker, "later"))
        else:
            yield "reserve", beside(world, others, worker._replace(step="handle"))

    def _earlier(self, receipts: tuple[str, ...], worker: Worker) -> tuple[str, ...]:
        """Receipts of other runs that keep this one from running."""
        blind = worker.forced or self.weakness == "replay_repeats"
        blind = blind or (self.weakness == "bury_in_its_run_only" and worker.step == "bury")
        return () if blind else receipts[: worker.run - 1]

    def _collide(self, one: Worker, other: Worker) -> bool:
        if other.step not in OPEN or other.handler != one.handler:
            return False
        return not self._keys(one).isdisjoint(self._keys(other))

    def _keys(self, worker: Worker) -> set[int]:
        """The runs whose receipts its transaction inserts: its own, and the seals on those before."""
        if worker.forced or self.weakness in {"replay_without_seals", "replay_repeats"}:
            return {worker.run}
        if self.weakness == "bury_in_its_run_only" and worker.step == "bury":
            return {worker.run}
        return set(range(1, worker.run + 1))

    def _handle(self, world: World, worker: Worker, others: Others) -> Steps:
        yield "handle", beside(world, others, worker._replace(step="stage" if self.effects else "commit"))
        blamed = world._replace(at_fault=True) if world.run == worker.run else world
        yield "handle (fails)", beside(blamed, others, _came_to(worker, _judged(worker)))

    def _stage(self, world: World, worker: Worker, others: Others) -> Steps:
        if self.weakness == "effect_before_commit":
            world = world._replace(performed=put(world.performed, worker.run - 1, True))
        yield "stage", beside(world, others, worker._replace(step="commit"))

    def _commit(self, world: World, worker: Worker, others: Others) -> Steps:
        unknown = _judged(worker) if self.weakness == "unknown_is_a_failure" else "later"
        committed = self._committed(world, worker)
        if self.weakness == "receipt_later":
            yield "commit", beside(committed, others, worker._replace(step="receipt_later"))
        else:
            yield "commit", beside(committed, others, _came_to(worker, "done"))
        yield "commit (no answer, done)", beside(committed, others, _came_to(worker, unknown))
        yield "commit (no answer, undone)", beside(world, others, _came_to(worker, unknown))

    def _committed(self, world: World, worker: Worker) -> World:
        at, run = worker.handler, worker.run - 1
        writes = put(world.writes, at, put(world.writes[at], run, min(2, world.writes[at][run] + 1)))
        effects = world.effects
        if self.effects and at == 0 and effects[run] == NONE:
            effects = put(effects, run, "ready")
        after = world._replace(writes=writes, effects=effects)
        return after if self.weakness in {"no_receipt", "receipt_later"} else self._receipted(after, worker, DONE)

    def _receipted(self, world: World, worker: Worker, outcome: str) -> World:
        receipts = world.receipts[worker.handler]
        for key in self._keys(worker):
            if receipts[key - 1] == NONE:
                receipts = put(receipts, key - 1, outcome if key == worker.run else DEAD)
        return world._replace(receipts=put(world.receipts, worker.handler, receipts))

    def _receipt_later(self, world: World, worker: Worker, others: Others) -> Steps:
        late = self._receipted(world, worker, DONE)
        yield "commit (the receipt)", beside(late, others, _came_to(worker, "done"))

    def _bury(self, world: World, worker: Worker, others: Others) -> Steps:
        at = worker.results.index("last")
        here, there = worker._replace(handler=at), world.receipts[at][worker.run - 1]
        if not there and DONE in self._earlier(world.receipts[at], worker):
            there = DONE
        if self.weakness in {"bury_by_state", "no_receipt"}:
            yield "bury (by state)", beside(world, others, _came_to(here, "done" if there == DONE else "buried"))
        elif not there and any(self._collide(here, other) for other in others):
            yield "bury (busy)", beside(world, others, _came_to(here, "untombed"))
        else:
            buried = world if there else self._receipted(world, here, DEAD)
            heeds = self.weakness != "bury_unheeding"
            yield "bury", beside(buried, others, _came_to(here, "done" if there == DONE and heeds else "buried"))
            yield "bury (no answer)", beside(buried, others, _came_to(here, "untombed"))

    def _settle(self, world: World, worker: Worker, others: Others) -> Steps:
        signal = worker.signal or _signal(worker.results)
        if signal == "finish" and worker.looks_back and self._buried_before(world, worker):
            signal = "bury"
        mine = worker.run == world.run or self.weakness == "settle_without_run"
        if signal not in RECEIPT_SIGNALS:
            mine = mine and (worker.holds or self.weakness == "failure_without_token")
        settled = self._moved(world, signal) if mine else None
        if settled is not None and signal in {"retry", "postpone"}:
            settled = settled._replace(tries=_counted(worker.tries, worker.results))
            if "buried" in worker.results and self.weakness != "tombstone_forgotten":
                settled = settled._replace(tombed=self.removes)
        yield f"settle ({signal}{'' if settled else ', passed over'})", beside(settled or world, others, IDLE)

    def _buried_before(self, world: World, worker: Worker) -> bool:
        gone = (at for at, result in enumerate(worker.results) if result == "gone")
        return any(world.receipts[at][worker.run - 1] == DEAD for at in gone)

    def _perform(self, world: World, worker: Worker, others: Others) -> Steps:
        performed = world._replace(performed=put(world.performed, worker.run - 1, True))
        yield "perform", beside(performed, others, worker._replace(step="settle_effect", signal="done"))
        yield "perform (fails)", beside(world, others, worker._replace(step="settle_effect", signal="ready"))

    def _settle_effect(self, world: World, worker: Worker, others: Others) -> Steps:
        if worker.holds and world.effects[worker.run - 1] == "claimed":
            world = world._replace(effects=put(world.effects, worker.run - 1, worker.signal))
        yield f"settle_effect ({worker.signal})", beside(world, others, IDLE)


def _prepared(world: World, worker: Worker) -> Worker:
    if world.malformed and world.crashes < CRASHES:
        return worker._replace(step="settle", signal="refuse")
    results = ("last" if world.crashes >= CRASHES else "",) * len(world.tries)
    return _onwards(worker._replace(results=put(results, 0, "gone") if world.gone else results))


def _came_to(worker: Worker, result: str) -> Worker:
    return _onwards(worker._replace(results=put(worker.results, worker.handler, result)))


def _onwards(worker: Worker) -> Worker:
    """To the next handler that has to run, then to the burials, then to the settlement."""
    if "" in worker.results:
        return worker._replace(step="begin", handler=worker.results.index(""))
    return worker._replace(step="bury" if "last" in worker.results else "settle", handler=0)


def _judged(worker: Worker) -> str:
    return "last" if worker.tries[worker.handler] + 1 >= ATTEMPTS else "retry"


def _signal(results: tuple[str, ...]) -> str:
    if "retry" in results or "untombed" in results:
        return "retry"
    if "later" in results:
        return "postpone"
    return "bury" if "buried" in results else "finish"


_FAILED = frozenset({"retry", "untombed"})


def _counted(tries: tuple[int, ...], results: tuple[str, ...]) -> tuple[int, ...]:
    """One try more for each that failed, and none for what is buried. Where only the tombstone is missing, the next try
    is the last one again."""
    return tuple(
        0 if came == "buried" else min(ATTEMPTS - 1, n + (came in _FAILED))
        for n, came in zip(tries, results, strict=False)
    )


def _without_effect(worker: Worker, run: int) -> Worker:
    return worker._replace(holds=False) if worker.step in EFFECT_STEPS and worker.run == run else worker

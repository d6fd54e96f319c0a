"""One pair of databases, and cycle after cycle on it: live, crash, come up, recover, check."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from landfast.testing.crash import ANY
from tests.crash.nursery import Nursery
from tests.crash.plans import AFTERWARDS, KINDS, LIFE, Act, Ending, Place, Plan, places, raising

PAST_THE_LEASE = 40.0
"""Seconds; a lease is 30."""

LATER = 15 * 60.0
"""Seconds; who recovers may have moved the time by a minute for each of its rounds."""

CALLS_AT_LEAST = 4
"""Steps of a worker that comes up and finds nothing: four claims."""

REGROUPED = ("claim_effect", "perform", "settle_effect")
"""Steps that a life has once more or less often than another: who finishes an effect finds the next one free, or not yet."""

HURRY = 0.05
"""Seconds that a zombie's successor waits for its receipts: a second each, as it is in life, is tested elsewhere."""


@dataclass
class Scene:
    store: str
    folder: str
    dsn: str
    nursery: Nursery
    kinds: tuple[str, ...] = KINDS
    is_ordered: bool = False
    cycle: int = 0
    clock: float = 0.0
    workers: int = 0
    _open: Place | None = None
    """The crash whose cycle is not checked yet."""
    _after: Plan | None = None
    cycles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        ending = self.nursery.run(self._plan("create"))
        assert (ending.how, ending.code) == ("exited", 0), self._say("the databases cannot be made", ending)

    def count(self) -> dict[str, int]:
        """Live once without a crash: how often each step is reached."""
        self.cycle += 1
        ending = self.nursery.run(self._plan(*LIFE))
        assert (ending.how, ending.code, ending.errors) == ("exited", 0, []), self._say("no crash, and", ending)
        self._must_be_good(self.nursery.run(self._plan(*AFTERWARDS)), checks=1)
        return ending.calls

    def crash(self, places: Iterable[Place]) -> None:
        """A cycle for each. Who comes up after a crash sees to it first, and then lives and crashes itself."""
        for place in places:
            self.crash_once(place)
        self.finish()

    def crash_once(self, place: Place) -> None:
        """A life that had no such call ends well, and the next one is crashed at its last."""
        after, self._after = self._after, None
        self.cycle += 1
        self.cycles.append(str(place))
        plan = self._plan(*LIFE, place=place, before=after)
        ending = self.nursery.run(plan)
        self._must_be_good(ending, checks=after is not None)
        self._open = place
        reached = ending.calls.get(place.step, 0)
        if place.step in REGROUPED and not ending.fired and 0 < reached < place.nth:
            self._must_be_good(self.nursery.run(self._plan(*AFTERWARDS)), checks=1)
            self.crash_once(msgspec.structs.replace(place, nth=reached))
            return
        self._must_have_fired(ending, place)
        # By turns a supervisor knows who died, and nobody does, so that the lease runs out.
        dead = (plan.worker,) if self.cycle % 2 else ()
        self._after = self._plan(*AFTERWARDS, dead=dead, wait=1.0 if dead else PAST_THE_LEASE)

    def crash_again(self, place: Place) -> None:
        """Who comes up after a crash crashes too."""
        after = self._after
        assert after is not None
        self._open = place
        self.cycles.append(f"again: {place}")
        acts: tuple[Act, ...] = ("redeliver", "recover")
        ending = self.nursery.run(msgspec.structs.replace(after, acts=acts, place=place))
        self._must_have_fired(ending, place)
        # Who sees to it next may know of both, or of neither.
        dead = (*after.dead, after.worker) if after.dead else ()
        self._after = self._plan(*AFTERWARDS, dead=dead, wait=LATER)

    def wander(self, chance: random.Random, cycles: int) -> None:
        """Crash anywhere, and now and then again while coming up."""
        # A group is cut short behind its slow event. Where that stands follows from ids, which each cycle has its own of: so
        # whether anything is left to withdraw there is not known before. The planned crashes go there.
        everywhere = [place for place in places(self.count()) if place.step != "withdraw"]
        failing = raising(everywhere)
        for _ in range(cycles):
            self.crash_once(chance.choice(failing if chance.random() < 0.25 else everywhere))
            while chance.random() < 0.25:
                self.crash_again(Place(ANY, chance.choice(("before", "after")), chance.randint(1, CALLS_AT_LEAST)))
        self.finish()

    def finish(self) -> None:
        """See to the last crash."""
        if self._after is not None:
            after, self._after = self._after, None
            ending = self.nursery.run(after)
            self._must_be_good(ending, checks=1)

    def zombie(self, place: Place) -> None:
        """A process stops, another takes over when the lease has run out, then the first goes on as if nothing were."""
        self.cycle += 1
        self._open = place
        self.cycles.append(str(place))
        stopped = self.nursery.run(self._plan(*LIFE, place=place))
        assert stopped.how == "stopped", self._say("it did not stop", stopped)
        taken = self.nursery.run(self._plan("redeliver", "take_over", wait=PAST_THE_LEASE, patience=HURRY))
        assert taken.how == "exited", self._say("its successor failed", taken)
        ending = self.nursery.go_on(stopped)
        self._must_have_fired(ending, place)
        self._must_be_good(self.nursery.run(self._plan(*AFTERWARDS, wait=PAST_THE_LEASE)), checks=1)

    def _plan(
        self,
        *acts: Act,
        place: Place | None = None,
        before: Plan | None = None,
        dead: tuple[int, ...] = (),
        wait: float = 1.0,
        patience: float = 1.0,
    ) -> Plan:
        self.clock += wait if before is None else LATER
        self.workers += 1
        return Plan(
            store=self.store,
            folder=self.folder,
            dsn=self.dsn,
            cycle=self.cycle,
            kinds=self.kinds,
            is_ordered=self.is_ordered,
            acts=acts,
            clock=self.clock,
            worker=self.workers,
            dead=dead,
            patience=patience,
            place=place,
            before=before,
        )

    def _must_have_fired(self, ending: Ending, place: Place) -> None:
        wanted = "killed" if place.how == "kill" else "exited"
        assert ending.how == wanted, self._say("void, the planned end did not come", ending)
        assert ending.fired, self._say("void, the planned crash did not happen", ending)
        assert place.how == "kill" or ending.code == 0, self._say("it failed otherwise", ending)

    def _must_be_good(self, ending: Ending, *, checks: int) -> None:
        assert ending.checked == checks, self._say("void, it was not checked", ending)
        assert not ending.problems, self._say("\n".join(ending.problems), ending)

    def _say(self, what: str, ending: Ending) -> str:
        place = self._open
        repeat = (
            "" if place is None else f" --step {place.step} --when {place.when} --nth {place.nth} --how {place.how}"
        )
        return (
            f"{what}\n{ending}\nat {place} in cycle {self.cycle}; to see it again:\n"
            f"  .venv/bin/python -m tests.crash --store {self.store} --kinds {','.join(self.kinds)}{repeat}\n"
            f"{self.nursery.log()}"
        )

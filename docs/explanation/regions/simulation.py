"""Several regions, one home for each key: what holds, and which short cuts lose or double an event.

python -m docs.explanation.regions                         explore the small worlds whole; then a thousand random lives
python -m docs.explanation.regions --seed 7 --runs 10000   more random lives of a larger world
python -m docs.explanation.regions --traces                and how each short cut was caught

The design: a delivery is made durable where it arrives, answered, and forwarded under the same key until the home has
committed it. Only the home processes. A move seals the old home's ledger, carries its receipts over, and then opens the
new one. docs/explanation/regions.md says why.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

from docs.explanation.regions import world as world_of
from docs.explanation.regions.lives import LIVES, Life, live
from docs.explanation.regions.world import (
    DONE,
    MOVED,
    NOBODY,
    UNKNOWN,
    WORK,
    Key,
    World,
    changed,
    journaled,
    put,
    with_key,
)
from models.explore import Verdict, explore

Steps = Iterator[tuple[str, World]]


@dataclass(frozen=True)
class Regions:
    regions: int = 2
    moves: int = 1
    keys: int = 1
    comes_again: bool = True
    """Whether a sender may not see its answer, or come again all the same. Without it, a world is a tenth as large."""
    weakness: str = ""

    def starts(self) -> Iterator[World]:
        yield world_of.begin(regions=self.regions, keys=self.keys)

    def broken(self, world: World) -> str | None:
        return world_of.broken(world)

    def is_end(self, world: World) -> bool:
        return world_of.is_end(world)

    def steps(self, world: World) -> Steps:
        for number, key in enumerate(world.keys):
            for region in range(self.regions):
                yield from self._deliver(world, number, key, region)
                yield from self._forward(world, number, key, region)
                yield from self._process(world, number, key, region)
            yield from self._arrive(world, number, key)
        for region in range(self.regions):
            yield from self._learn(world, region)
            yield from self._crash(world, region)
        yield from self._move(world)
        if self.weakness == "region_lost":
            yield from self._lose(world)

    def _deliver(self, world: World, number: int, key: Key, region: int) -> Steps:
        """A sender tries this region, with a new delivery or again. The answer may be lost, or we may die before it:
        what was made durable stays."""
        if self.weakness == "answer_first" and not self._is_home_by_view(world, region):
            kept = changed(key, region, memory=True)
        else:
            kept = self._stored(world, key, region)
        if kept != key and self.comes_again:
            yield f"deliver ({region}, no answer)", with_key(world, number, kept)
        if not key.acknowledged:
            yield f"deliver ({region})", with_key(world, number, kept._replace(acknowledged=True))

    def _stored(self, world: World, key: Key, region: int) -> Key:
        if self.weakness == "both_process" or self._is_home_by_view(world, region):
            return self._recorded(key, region)
        return self._journaled(key, region)

    def _recorded(self, key: Key, region: int) -> Key:
        """In the inbox, where the first delivery is new. A key that was handed over is new again: it may come back."""
        is_new = key.inbox[region] == UNKNOWN or (key.inbox[region] == MOVED and self.weakness != "moved_is_known")
        return changed(key, region, inbox=WORK) if is_new else key

    def _journaled(self, key: Key, region: int) -> Key:
        if self.weakness == "answers_name_keys" or (self.weakness == "one_record_a_key" and key.journal[region]):
            return changed(key, region, journal=True)
        return journaled(key, region)

    def _is_home_by_view(self, world: World, region: int) -> bool:
        return world.homes[world.views[region]] == region

    def _forward(self, world: World, number: int, key: Key, region: int) -> Steps:
        to = world.homes[world.views[region]]
        if to != region and self._is_stranded(world, key, region):
            # One transaction of the sealed inbox: journal it, mark it moved.
            moved = changed(self._journaled(key, region), region, inbox=MOVED)
            yield f"hand_over ({region})", with_key(world, number, moved)
        if key.journal[region] and to == region:
            at_home = changed(self._recorded(key, region), region, journal=False)
            yield f"drain ({region})", with_key(world, number, at_home)
        if (key.journal[region] or key.memory[region]) and to != region:
            sent = key._replace(air=key.air | {(region, to)})
            if self.weakness == "forget_when_sent":
                sent = changed(sent, region, journal=False)
            if sent != key:
                yield f"forward ({region} to {to})", with_key(world, number, sent)
        if region in key.answers:
            told = key._replace(answers=key.answers - {region})
            yield f"forget ({region})", with_key(world, number, changed(told, region, journal=False, memory=False))

    def _is_stranded(self, world: World, key: Key, region: int) -> bool:
        """In an inbox whose ledger is sealed, and not done."""
        is_waiting = key.inbox[region] == WORK and not key.receipt[region]
        return is_waiting and not world.active[region] and self.weakness != "both_process"

    def _arrive(self, world: World, number: int, key: Key) -> Steps:
        """At the home: COMMIT, then the answer. Anywhere else it is refused, and whoever sent it keeps it. A letter
        that arrived is still in the air, and may arrive again, until the network drops it, before or after."""
        for letter in sorted(key.air):  # a set has no order that a seed could repeat
            origin, to = letter
            yield f"drop ({to})", with_key(world, number, key._replace(air=key.air - {letter}))
            if world.active[to]:
                taken = self._recorded(key, to)
                if origin != NOBODY:
                    taken = taken._replace(answers=taken.answers | {origin})
                if taken != key:
                    yield f"arrive ({to})", with_key(world, number, taken)

    def _process(self, world: World, number: int, key: Key, region: int) -> Steps:
        may_commit = world.active[region] or self.weakness == "both_process"
        if key.inbox[region] == WORK and key.receipt[region]:
            yield f"settle ({region})", with_key(world, number, changed(key, region, inbox=DONE))
        elif key.inbox[region] == WORK and may_commit and world.working[region] == NOBODY:
            yield f"begin ({region})", world._replace(working=put(world.working, region, number))
        if world.working[region] == number:
            over = world._replace(working=put(world.working, region, NOBODY), astray=world.astray or not may_commit)
            done = changed(key, region, receipt=True, writes=min(2, key.writes[region] + 1))
            yield f"commit ({region})", with_key(over, number, done)

    def _learn(self, world: World, region: int) -> Steps:
        if world.views[region] < len(world.homes) - 1:
            yield f"learn ({region})", world._replace(views=put(world.views, region, len(world.homes) - 1))

    def _crash(self, world: World, region: int) -> Steps:
        keys = tuple(changed(key, region, memory=False) for key in world.keys)
        dead = world._replace(keys=keys, working=put(world.working, region, NOBODY))
        if dead != world:
            yield f"crash ({region})", dead

    def _move(self, world: World) -> Steps:
        """An operator's act: seal the old home, carry its receipts over, open the new one."""
        old = world.homes[-1]
        if not world.phase and len(world.homes) <= self.moves:
            for to in range(self.regions):
                if to != old:
                    yield from self._seal(world, old, to)
        elif world.phase == "sealed":
            carried = self._carried(world, old, world.target)
            yield "carry", carried._replace(phase="carried")
        elif world.phase == "carried" and not (self.weakness == "carry_first" and world.working[old] != NOBODY):
            active = put(world.active, world.target, True)
            if self.weakness == "carry_first":  # sealed only now, and properly
                active = put(active, old, False)
            opened = world._replace(active=active, phase="", target=NOBODY, homes=(*world.homes, world.target))
            yield f"open ({world.target})", opened

    def _seal(self, world: World, old: int, to: int) -> Steps:
        moving = world._replace(phase="sealed", target=to)
        if self.weakness in {"no_seal", "carry_first"}:
            yield f"leave_unsealed ({old})", moving
        elif world.working[old] == NOBODY or self.weakness == "looks_before":
            # The seal waits for the transactions that hold the row, and whoever comes after it reads that it is
            # sealed. A process that looked at the row before its transaction is stopped by neither.
            yield f"seal ({old})", moving._replace(active=put(world.active, old, False))

    def _carried(self, world: World, old: int, to: int) -> World:
        if self.weakness == "no_receipts":
            return world
        keys = (changed(key, to, receipt=key.receipt[to] or key.receipt[old]) for key in world.keys)
        return world._replace(keys=tuple(keys))

    def _lose(self, world: World) -> Steps:
        """A region burns down with its disks, and its homes are moved by force, without its seal and its receipts."""
        burnt = world.homes[-1]
        if world.lost or world.phase:
            return
        keys = tuple(
            changed(key, burnt, memory=False, journal=False, inbox=UNKNOWN, receipt=False) for key in world.keys
        )
        to = (burnt + 1) % self.regions
        yield (
            f"lose ({burnt})",
            world._replace(
                keys=keys,
                lost=True,
                homes=(*world.homes, to),
                active=put(put(world.active, burnt, False), to, True),
                working=put(world.working, burnt, NOBODY),
            ),
        )


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    model: Regions
    holds: bool = True
    """What is expected of it."""


DESIGN = (
    Row("two regions, the home moves once", Regions(moves=1)),
    Row("two regions, there and back, sent once", Regions(moves=2, comes_again=False)),
    Row("three regions, the home stays", Regions(regions=3, moves=0)),
    Row("three regions, the home moves once, sent once", Regions(regions=3, moves=1, comes_again=False)),
)
DEEP = (
    Row("two regions, there and back", Regions(moves=2)),
    Row("two regions, three moves, sent once", Regions(moves=3, comes_again=False)),
    Row("three regions, two moves, sent once", Regions(regions=3, moves=2, comes_again=False)),
)
WEAKENED = (
    Row("both regions process and reconcile later", Regions(weakness="both_process"), holds=False),
    Row("forwards without a journal before the answer", Regions(weakness="answer_first"), holds=False),
    Row("a home moved without a seal", Regions(weakness="no_seal"), holds=False),
    Row("a seal that is looked at before the transaction", Regions(weakness="looks_before"), holds=False),
    Row("a home moved without its receipts", Regions(weakness="no_receipts"), holds=False),
    Row("receipts carried over before the seal", Regions(weakness="carry_first"), holds=False),
    Row("a forward forgotten when it was sent", Regions(weakness="forget_when_sent"), holds=False),
    Row(
        "an answer that names a key and no record",
        Regions(moves=2, weakness="answers_name_keys", comes_again=False),
        holds=False,
    ),
    Row(
        "a journal that keeps one record for a key",
        Regions(moves=2, weakness="one_record_a_key", comes_again=False),
        holds=False,
    ),
    Row(
        "a key that moved away stays known", Regions(moves=2, weakness="moved_is_known", comes_again=False), holds=False
    ),
    Row("a region lost for good, its home moved by force", Regions(weakness="region_lost"), holds=False),
)
LARGE = Regions(regions=3, moves=4, keys=3)
"""Too large to explore: random lives of it, each to its end."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.explanation.regions", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the random lives (1)")
    parser.add_argument("--runs", type=int, default=LIVES, help=f"how many random lives ({LIVES})")
    parser.add_argument("--deep", action="store_true", help="explore larger worlds, too: some minutes")
    parser.add_argument("--traces", action="store_true", help="print how each short cut was caught")
    given = parser.parse_args(arguments)
    wrong = sum(_explored(row, traces=given.traces) for row in (*DESIGN, *(DEEP if given.deep else ()), *WEAKENED))
    wrong += _lived(given.seed, given.runs)
    _say(f"regions: {wrong} wrong" if wrong else "regions: the design holds, every short cut is caught")
    return 1 if wrong else 0


def _explored(row: Row, *, traces: bool) -> bool:
    """Whether it was not as expected."""
    started = time.perf_counter()
    verdict = explore(row.model)
    seconds = time.perf_counter() - started
    _say(f"{row.name:<50}{verdict.states:>9,} worlds {seconds:5.1f} s  {_result(row, verdict)}")
    if verdict.trace and (traces or row.holds):
        _say(f"    {' / '.join(verdict.trace)}")
    return row.holds != (not verdict.problem)


def _result(row: Row, verdict: Verdict) -> str:
    if row.holds:
        return f"BROKEN: {verdict.problem}" if verdict.problem else "holds"
    return f"caught: {verdict.problem}" if verdict.problem else "NOT CAUGHT"


def _lived(seed: int, runs: int) -> bool:
    started, steps = time.perf_counter(), 0
    for number in range(runs):
        life: Life = live(LARGE, seed=seed + number)
        steps += life.steps
        if life.problem:
            _say(f"BROKEN at seed {life.seed}: {life.problem}\n    {' / '.join(life.trace)}")
            return True
        if (number + 1) % max(1, runs // 10) == 0:
            seconds = time.perf_counter() - started
            _say(f"{number + 1:,} of {runs:,} random lives from seed {seed}, {steps:,} steps, {seconds:.1f} s")
    return False


def _say(text: str) -> None:
    print(text, flush=True)

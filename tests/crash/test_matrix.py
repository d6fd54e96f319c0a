"""Killed, failed and frozen at every step of both halves, on both stores: nothing lost, doubled or stuck."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import msgspec
import pytest

from landfast.testing.crash import INTAKE, STEPS
from tests.crash.plans import Place, drawn_kinds, first_middle_last, places, raising
from tests.crash.scene import Scene

pytestmark = pytest.mark.long
STORES = ("sqlite", "postgres")
PARTS: dict[str, tuple[str, ...]] = {
    "intake": INTAKE,
    "claims": ("requeue", "claim", "claim_suspect", "stir", "settle", "replay", "admit"),
    "receipts": ("begin", "reserve", "scope", "withdraw", "bury", "rollback"),
    "lane memory": ("mark", "lock_states", "move_states"),
    "handlers": ("handle", "stage", "commit"),
    "effects": ("claim_effect", "claim_suspect_effect", "perform", "settle_effect"),
    "arrivals": ("arrive", "arrived"),
}
SEEDS = tuple(range(1, 9))
ALL_CYCLES = 400
CYCLES = int(os.environ.get("LANDFAST_CRASH_CYCLES", ALL_CYCLES // 8))
"""Random ones, beside those of the matrix: nine of ten on SQLite, where one takes a quarter of the time. `make chaos`
asks for all of them, and for every call of every step."""

IS_LONG_RUN = CYCLES >= ALL_CYCLES

ZOMBIE = ("plain", "doomed")
"""Two events are enough for a zombie and its successor to quarrel about."""

LANE = ("plain", "plain", "shaky", "doomed", "plain", "paired")
"""Of one entity: some that share a transaction, one that fails once, and one that dies and is skipped."""

IN_A_LANE = ("claim", "claim_suspect", "reserve", "handle", "commit", "bury", "settle")

MakeScene = Callable[..., Scene]


def planned(store: str, calls: dict[str, int]) -> list[Place]:
    """By a kill, the first and the last call of each step; on PostgreSQL, where one takes longer, the first. By an error,
    the first; on PostgreSQL behind it, where it was done and nobody heard of it. In the long run every call on SQLite and
    three of each step on PostgreSQL, and by an error before and behind on both."""
    every = places(calls)
    first = [place for place in every if place.nth == 1]
    if IS_LONG_RUN:
        return (every if store == "sqlite" else first_middle_last(every, calls)) + raising(first)
    if store == "sqlite":
        return [place for place in every if place.nth in {1, calls[place.step]}] + raising(first)
    return first + one_of_each(raising(first), "after")


def frozen(store: str, calls: dict[str, int]) -> list[Place]:
    """The first call of every step, before it and after it; on PostgreSQL before it, and in the long run both."""
    first = [place for place in places(calls) if place.nth == 1]
    chosen = first if IS_LONG_RUN or store == "sqlite" else one_of_each(first, "before")
    return [msgspec.structs.replace(place, how="pause") for place in chosen]


def one_of_each(found: list[Place], when: str) -> list[Place]:
    """Then, or where a step has no such place, at the other one that it has."""
    liked = {place.step for place in found if place.when == when}
    return [place for place in found if place.when == when or place.step not in liked]


def cycles_of(store: str) -> int:
    share = CYCLES * 9 // 10 if store == "sqlite" else CYCLES // 10
    return max(1, share // len(SEEDS))


@pytest.mark.req("R24")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("store", STORES)
def test_nothing_is_lost_doubled_or_stuck_when_a_process_crashes_at(store: str, part: str, scene_on: MakeScene) -> None:
    scene = scene_on(store)
    scene.crash(place for place in planned(store, scene.count()) if place.step in PARTS[part])


@pytest.mark.req("R24", "R29")
@pytest.mark.parametrize("store", STORES)
def test_a_lane_is_neither_reordered_nor_stuck_when_a_process_is_killed_at(store: str, scene_on: MakeScene) -> None:
    """At the first call of each step of processing; in the long run at every one."""
    scene = scene_on(store, LANE, is_ordered=True)
    every = [place for place in places(scene.count()) if place.step not in INTAKE and "effect" not in place.step]
    scene.crash(place for place in every if IS_LONG_RUN or (place.nth == 1 and place.step in IN_A_LANE))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("store", STORES)
def test_nothing_is_lost_doubled_or_stuck_when_processes_crash_anywhere_and_again(
    store: str, seed: int, scene_on: MakeScene
) -> None:
    print(f"to see it again: .venv/bin/python -m tests.crash --store {store} --seed {seed} --cycles {cycles_of(store)}")
    chance = random.Random(seed)
    scene_on(store, drawn_kinds(chance)).wander(chance, cycles_of(store))


@pytest.mark.parametrize("half", ["intake", "processing"])
@pytest.mark.parametrize("store", STORES)
def test_a_zombie_that_goes_on_after_its_lease_changes_nothing_that_its_successor_did(
    store: str, half: str, scene_on: MakeScene
) -> None:
    scene = scene_on(store, ZOMBIE)
    for place in frozen(store, scene.count()):
        if (place.step in INTAKE) == (half == "intake"):
            scene.zombie(place)


@pytest.mark.parametrize("store", STORES)
def test_the_plan_leaves_no_step_out(store: str, scene_on: MakeScene) -> None:
    """A step that one store does not pass any more would be planned there no more, and nobody would miss it."""
    calls = scene_on(store).count()
    assert set(calls) == set(STEPS) == {step for part in PARTS.values() for step in part}
    of_both = [(planned(each, calls), frozen(each, calls)) for each in STORES]
    for plan, pauses in of_both:
        assert {place.step for place in plan if place.how == "kill"} == {place.step for place in pauses} == set(STEPS)
    on_sqlite, on_postgres = ({place.step for place in plan if place.how == "raise"} for plan, _ in of_both)
    assert on_sqlite == on_postgres == {place.step for place in raising(places(calls))}


@pytest.mark.skipif(not IS_LONG_RUN, reason="the long run: make chaos")
def test_the_long_plan_has_a_thousand_crashes(scene_on: MakeScene) -> None:
    calls = scene_on("sqlite").count()
    paused = scene_on("sqlite", ZOMBIE).count()
    crashes = {
        store: len(planned(store, calls)) + cycles_of(store) * len(SEEDS) + len(frozen(store, paused))
        for store in STORES
    }
    print(crashes)
    assert sum(crashes.values()) >= 1000 and min(crashes.values()) >= 200, crashes

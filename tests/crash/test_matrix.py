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
    "claims": ("requeue", "claim", "claim_suspect", "settle", "replay", "admit"),
    "receipts": ("begin", "reserve", "reset", "withdraw", "bury", "rollback"),
    "handlers": ("handle", "stage", "commit"),
    "effects": ("claim_effect", "claim_suspect_effect", "perform", "settle_effect"),
}
SEEDS = tuple(range(1, 9))
CYCLES = int(os.environ.get("LANDFAST_CRASH_CYCLES", "400"))
"""Random ones, beside those of the matrix: nine of ten on SQLite, where one takes a quarter of the time."""

ZOMBIE = ("plain", "doomed")
"""Two events are enough for a zombie and its successor to quarrel about."""

MakeScene = Callable[..., Scene]


def planned(store: str, calls: dict[str, int]) -> list[Place]:
    """Every call of every step on SQLite; on PostgreSQL, and by an error, the first, the middle and the last of each."""
    every = places(calls)
    some = first_middle_last(every, calls)
    return (every if store == "sqlite" else some) + [place for place in raising(some) if place.nth == 1]


def frozen(calls: dict[str, int]) -> list[Place]:
    """The first call of every step, before it and after it."""
    return [msgspec.structs.replace(place, how="pause") for place in places(calls) if place.nth == 1]


def cycles_of(store: str) -> int:
    share = CYCLES * 9 // 10 if store == "sqlite" else CYCLES // 10
    return max(1, share // len(SEEDS))


@pytest.mark.req("R24")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("store", STORES)
def test_nothing_is_lost_doubled_or_stuck_when_a_process_crashes_at(store: str, part: str, scene_on: MakeScene) -> None:
    scene = scene_on(store)
    scene.crash(place for place in planned(store, scene.count()) if place.step in PARTS[part])


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
    for place in frozen(scene.count()):
        if (place.step in INTAKE) == (half == "intake"):
            scene.zombie(place)


@pytest.mark.skipif(CYCLES < 400, reason="fewer were asked for")
def test_the_plan_has_a_thousand_crashes_and_leaves_no_step_out(scene_on: MakeScene) -> None:
    calls = scene_on("sqlite").count()
    assert set(calls) == set(STEPS) == {step for part in PARTS.values() for step in part}
    zombies = len(frozen(scene_on("sqlite", ZOMBIE).count()))
    crashes = {store: len(planned(store, calls)) + cycles_of(store) * len(SEEDS) + zombies for store in STORES}
    print(crashes)
    assert sum(crashes.values()) >= 1000 and min(crashes.values()) >= 200, crashes

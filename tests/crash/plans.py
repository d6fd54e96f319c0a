"""What a child process is to do, and where it is to die."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from landfast.testing.crash import How, When

Act = Literal[
    "create",
    "deliver",
    "shelve",
    "ghost",
    "drain",
    "replay",
    "stage",
    "ghost_effect",
    "wait",
    "redeliver",
    "take_over",
    "recover",
    "check",
]

KINDS = ("plain", "slow", *5 * ("plain",), "paired", "shaky", "late", "doomed")
"""One event each: six that can share a transaction, one that takes so long that its group is cut short, one for two
handlers, one whose first attempt fails after it wrote, one that is held until an operator admits it, and one that is
given up after it wrote."""

LIFE: tuple[Act, ...] = ("deliver", "ghost", "drain", "replay", "shelve", "stage", "ghost_effect", "wait", "drain")
"""Everything that can happen to an event: delivered, again, claimed by one that dies, processed, replayed, shelved by
one that has no handler for it, processed, its effect claimed by one that dies, and waited for in vain."""

AFTERWARDS: tuple[Act, ...] = ("redeliver", "recover", "check")


class Place(msgspec.Struct, frozen=True):
    """Where a crash is planned."""

    step: str
    when: When
    nth: int = 1
    how: How = "kill"

    def __str__(self) -> str:
        return f"{self.how} {self.when} {self.step} {self.nth}"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    store: str
    folder: str
    """Of the SQLite files and the history."""
    dsn: str = ""
    cycle: int
    kinds: tuple[str, ...] = KINDS
    acts: tuple[Act, ...]
    clock: float
    """Seconds after the dawn of test time."""
    worker: int
    dead: tuple[int, ...] = ()
    """Workers that are known to be dead, for `recover`; the leases of the others run out."""
    patience: float = 1.0
    """Seconds to wait for a receipt that another transaction holds."""
    is_ordered: bool = False
    """All events are of one entity, and the first handler takes them in order, the last one first."""
    place: Place | None = None
    before: Plan | None = None
    """What the same process does first: it comes up after a crash, and has that to see to."""


class Ending(msgspec.Struct, frozen=True):
    """How a child ended, and what it said before."""

    pid: int
    how: Literal["killed", "stopped", "exited", "hung"]
    code: int = 0
    fired: str = ""
    """Where it crashed, in its own words."""
    calls: dict[str, int] = {}
    problems: list[str] = []
    errors: list[str] = []
    checked: int = 0
    """How many times it checked the books."""


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a child says on its way, before it may die."""

    fired: str = ""
    calls: dict[str, int] = {}
    problems: list[str] = []
    error: str = ""
    checked: bool = False


def places(calls: dict[str, int]) -> list[Place]:
    """Every place to be killed at in a life that makes these calls."""
    whens: dict[str, tuple[When, ...]] = {"stage": ("after",)}  # it begins where `commit` does
    return [
        Place(step, when, nth)
        for step, count in calls.items()
        for nth in range(1, count + 1)
        for when in whens.get(step, ("before", "after"))
    ]


def first_middle_last(every: Sequence[Place], calls: dict[str, int]) -> list[Place]:
    """Fewer of them, for what takes longer: all steps, but not each of their calls."""
    return [place for place in every if place.nth in {1, (calls[place.step] + 1) // 2, calls[place.step]}]


def raising(every: Sequence[Place]) -> list[Place]:
    """Those that can fail by an error as well. A driver whose `begin` or `rollback` fails has given everything back;
    one that is wrapped has not. To answer is the harness's own part, and so is to look inside of `commit`."""
    return [
        msgspec.structs.replace(place, how="raise")
        for place in every
        if place.step not in ("answer", "arrive", "stage", "rollback")
        and (place.step, place.when) != ("begin", "after")
    ]


def drawn_kinds(chance: random.Random) -> tuple[str, ...]:
    return tuple(chance.choice(KINDS) for _ in range(chance.randint(3, 9)))

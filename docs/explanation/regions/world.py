"""Regions, the keys that live in them, and what must hold of both.

A world is what is durable, in the air, or in the hands of a worker. Time does not exist: whatever may happen next may
take for ever, so a partition is a message that does not arrive, and a slow region one that does nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

UNKNOWN, WORK, MOVED, DONE = "", "work", "moved", "done"
"""Where a key stands in one region's inbox. Moved: it was handed over to the next home, and may come back."""

NOBODY = -1

Letter = tuple[int, int]
"""A forward on its way: the region whose journal record it carries, and the region that it goes to. From NOBODY: its
record is no more, so no answer to it may forget anything."""


class Key(NamedTuple):
    acknowledged: bool
    """Some sender saw a 200 for it."""
    memory: tuple[bool, ...]
    """By region: held by a process and by nothing else. The design keeps nothing there."""
    journal: tuple[bool, ...]
    """By region: durable, and to be forwarded until the home has committed it."""
    inbox: tuple[str, ...]
    receipt: tuple[bool, ...]
    """By region: its ledger says that the key is done, there or in an earlier home."""
    writes: tuple[int, ...]
    """By region: how often the handler's writes were committed."""
    air: frozenset[Letter]
    answers: frozenset[int]
    """Regions to which the home's answer about their present journal record is on its way."""


class World(NamedTuple):
    keys: tuple[Key, ...]
    homes: tuple[int, ...]
    """By epoch. The last one is the home."""
    views: tuple[int, ...]
    """By region: the newest epoch that it has heard of."""
    active: tuple[bool, ...]
    """By region: the row of its ledger that lets its workers commit."""
    working: tuple[int, ...]
    """By region: the key whose transaction is open, or NOBODY."""
    phase: str
    """Of a move: "", sealed, carried."""
    target: int
    lost: bool
    """A region burnt down."""
    astray: bool
    """Writes were committed in a region that was not the home, or no more. Only the invariants look at it."""


def begin(*, regions: int, keys: int) -> World:
    no = (False,) * regions
    key = Key(False, no, no, (UNKNOWN,) * regions, no, (0,) * regions, frozenset(), frozenset())
    return World(
        keys=(key,) * keys,
        homes=(0,),
        views=(0,) * regions,
        active=put(no, 0, True),
        working=(NOBODY,) * regions,
        phase="",
        target=NOBODY,
        lost=False,
        astray=False,
    )


def broken(world: World) -> str | None:
    if world.astray:
        return "processed away from its home"
    for key in world.keys:
        if sum(key.writes) > 1:
            regions = sum(1 for count in key.writes if count)
            return "processed by two regions" if regions > 1 else "processed twice in one region"
        if key.acknowledged and not _is_kept(key):
            return "acknowledged and lost"
    return None


def is_end(world: World) -> bool:
    """Everything was acknowledged and is processed, once, and nothing is on its way."""
    return not world.phase and all(
        key.acknowledged
        and sum(key.writes) == 1
        and WORK not in key.inbox
        and not (any(key.journal) or any(key.memory) or key.air)
        for key in world.keys
    )


def _is_kept(key: Key) -> bool:
    """Processed, or somewhere from where it still can be: durable, or in a memory that has not died yet."""
    return any(key.writes) or any(key.journal) or any(key.memory) or WORK in key.inbox


def put(row: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*row[:at], value, *row[at + 1 :])


def with_key(world: World, number: int, key: Key) -> World:
    return world._replace(keys=put(world.keys, number, key))


def changed(key: Key, region: int, **new: Any) -> Key:
    """The key with these of its columns changed for one region."""
    columns: dict[str, Any] = {name: put(getattr(key, name), region, value) for name, value in new.items()}
    return key._replace(**columns)


def journaled(key: Key, region: int) -> Key:
    """A new record in this region's journal, also where there is one of the same key already. What is on its way from
    here belongs to an older record, and no answer to it may forget this one."""
    air = frozenset((NOBODY if origin == region else origin, to) for origin, to in key.air)
    return changed(key, region, journal=True)._replace(air=air, answers=key.answers - {region})

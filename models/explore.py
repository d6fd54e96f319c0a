"""Visit every world that a model can reach, nearest first, so that a counterexample is a shortest one."""

from __future__ import annotations

import gc
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

W = TypeVar("W", bound=Hashable)


class Model(Protocol[W]):
    def starts(self) -> Iterable[W]: ...

    def steps(self, world: W) -> Iterable[tuple[str, W]]:
        """Everything that may happen next, by the name of the action; a detail may follow in brackets."""
        ...

    def broken(self, world: W) -> str | None:
        """The invariant that does not hold here, in words."""
        ...

    def is_end(self, world: W) -> bool:
        """Nothing is left to do here. From every world one of these must be reachable."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    states: int
    problem: str = ""
    trace: tuple[str, ...] = ()
    actions: frozenset[str] = frozenset()
    """Every action that was taken anywhere, without its detail."""


@dataclass(slots=True)
class _Atlas(Generic[W]):
    """The worlds in the order in which they were found, and the ways between them. Worlds are deep tuples, slow to
    hash, so each has a number."""

    worlds: list[W] = field(default_factory=list)
    numbers: dict[W, int] = field(default_factory=dict)
    first_way: list[tuple[str, int]] = field(default_factory=list)
    """By world: the action that found it, and from where; -1 for a start."""
    ways_in: list[list[int]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)

    def reach(self, world: W, label: str, origin: int) -> None:
        number = self.numbers.setdefault(world, len(self.worlds))
        if number == len(self.worlds):
            self.worlds.append(world)
            self.first_way.append((label, origin))
            self.ways_in.append([])
        if origin >= 0:
            self.ways_in[number].append(origin)
            self.labels.add(label)

    def verdict(self, problem: str = "", at: int = -1) -> Verdict:
        labels: list[str] = []
        while at >= 0 and self.first_way[at][1] >= 0:
            label, at = self.first_way[at]
            labels.append(label)
        actions = frozenset(label.split(" ")[0] for label in self.labels)
        return Verdict(len(self.worlds), problem, tuple(reversed(labels)), actions)


def explore(model: Model[W]) -> Verdict:
    """Stop at the first broken invariant; otherwise look whether every world can still end."""
    atlas: _Atlas[W] = _Atlas()
    ends: list[int] = []
    for start in model.starts():
        atlas.reach(start, "", -1)
    with _without_collecting():
        for number, world in enumerate(atlas.worlds):  # grows while we walk it
            if problem := model.broken(world):
                return atlas.verdict(problem, number)
            if model.is_end(world):
                ends.append(number)
            for label, following in model.steps(world):
                atlas.reach(following, label, number)
    return _look_for_stuck(atlas, ends)


def _look_for_stuck(atlas: _Atlas[W], ends: list[int]) -> Verdict:
    """Walk back from the ends; the nearest world that is never met cannot end."""
    live, todo = set(ends), list(ends)
    while todo:
        for number in atlas.ways_in[todo.pop()]:
            if number not in live:
                live.add(number)
                todo.append(number)
    stuck = [number for number in range(len(atlas.worlds)) if number not in live]
    return atlas.verdict(f"I3: {len(stuck)} worlds never end", stuck[0]) if stuck else atlas.verdict()


@contextmanager
def _without_collecting() -> Iterator[None]:
    # Everything is kept and nothing is circular: looking for garbage would take half of the time.
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

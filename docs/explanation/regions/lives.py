"""Random lives of a world that is too large to explore: trouble at first, then none, and then everything must end."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from models.explore import Model

LIVES = 1000

TROUBLED = 120
"""Steps of a life in which everything may happen."""

HEALED = 400
"""Steps in which a healed world must end. The longest of a thousand lives took 130; chance may idle for a while."""

TROUBLE = ("crash", "seal", "lose", "no answer")
"""What does not happen any more when the world is healed: crashes, moves, and deliveries that nobody waits for."""


@dataclass(frozen=True, slots=True)
class Life:
    seed: int
    steps: int
    problem: str
    trace: tuple[str, ...]


def live(model: Model[Any], *, seed: int) -> Life:
    chance = random.Random(seed)  # noqa: S311 - a simulation
    (world,) = model.starts()
    trace: list[str] = []
    for number in range(TROUBLED + HEALED):
        if problem := model.broken(world):
            return Life(seed, number, problem, tuple(trace))
        choices = list(model.steps(world))
        if number >= TROUBLED:
            if model.is_end(world):
                return Life(seed, number, "", tuple(trace))
            choices = [choice for choice in choices if not _is_trouble(choice[0])]
        if not choices:
            return Life(seed, number, "stuck", tuple(trace))
        label, world = chance.choice(choices)
        trace.append(label)
    return Life(seed, len(trace), "never ends", tuple(trace))


def _is_trouble(label: str) -> bool:
    return any(word in label for word in TROUBLE)

"""The goals for speed: which row, against what, and how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from bench.rows import (
    Row,
    acks,
    attacks,
    claim,
    crowd,
    fairness,
    herd,
    lanes,
    latency,
    layers,
    metrics,
    processing,
    stacks,
    verification,
)


class Goal(NamedTuple):
    row: str
    against: str | None
    """Another row, as a ratio; None for the figure itself."""
    limit: float
    side: Literal["at least", "at most"] = "at least"


class Verdict(NamedTuple):
    goal: Goal
    ratio: float | None
    """The figure, or its ratio; None where there is none."""
    is_void: bool = False

    @property
    def is_met(self) -> bool | None:
        """None where nobody can tell."""
        if self.ratio is None or self.is_void:
            return None
        return self.ratio >= self.goal.limit if self.goal.side == "at least" else self.ratio <= self.goal.limit


def all_goals(finished: int) -> Sequence[Goal]:
    return (
        Goal(acks.POSTGRES, acks.YARDSTICK, 0.40),
        Goal(acks.POSTGRES, acks.NAIVE, 6),
        Goal(acks.SQLITE, acks.YARDSTICK, 0.45),
        Goal(acks.SQLITE, acks.NAIVE, 7),
        Goal(acks.SEALED.format("PostgreSQL"), acks.POSTGRES, 0.85),
        Goal(acks.SEALED.format("SQLite"), acks.SQLITE, 0.85),
        Goal(acks.STORM, acks.YARDSTICK, 1.0),
        Goal(processing.SUSTAINED.format("PostgreSQL"), None, 10_000),
        Goal(processing.SUSTAINED.format("PostgreSQL"), processing.NAIVE, 3),
        Goal(processing.WRITTEN[processing.SUSTAINED].format("PostgreSQL"), processing.NAIVE, 5),
        Goal(latency.HALF.format("p99", "PostgreSQL"), None, 10, "at most"),
        Goal(latency.HALF.format("p99", "SQLite"), None, 10, "at most"),
        Goal(crowd.AMONG, crowd.ALONE, 2, "at most"),
        *(Goal(row, attacks.CALM, 3, "at most") for row in attacks.names((1, 16))),
        Goal(attacks.REFUSED, None, 0, "at most"),
        Goal(attacks.MEMORY, None, 250, "at most"),
        Goal(fairness.ALONE.format("PostgreSQL"), None, 100, "at most"),
        Goal(fairness.ALONE.format("SQLite"), None, 100, "at most"),
        Goal(fairness.BESIDE, None, 1000, "at most"),
        Goal(layers.CACHE_DEAD, None, 10, "at most"),
        Goal(layers.STORE_DOWN, None, 10, "at most"),
        Goal(latency.IDLE.format("PostgreSQL"), None, 5, "at most"),
        Goal(latency.IDLE.format("SQLite"), None, 5, "at most"),
        Goal(claim.FINISHED.format(finished), claim.EMPTY, 1.10, "at most"),
        Goal(claim.OPEN, claim.EMPTY, 1.10, "at most"),
        *(
            Goal(lanes.ORDERED.format(kind), lanes.PLAIN.format(kind), 1.25, "at most")
            for kind in ("PostgreSQL", "SQLite")
        ),
        Goal(lanes.DATABASE, None, 60, "at most"),
        Goal(lanes.BESIDE_HOT, lanes.EVEN, 2, "at most"),
        Goal(lanes.WAITING.format(finished), lanes.NONE_WAIT, 1.10, "at most"),
        Goal(lanes.PINNED, lanes.FRESH, 2, "at most"),
        Goal(herd.ATTEMPTS, None, 0, "at most"),
        Goal(herd.DONE_AFTER, None, 60, "at most"),
        Goal(herd.BUSIEST, None, herd.RATE, "at most"),
        Goal(acks.MEMORY, None, 120, "at most"),
        Goal(metrics.RATIO, None, 1.03, "at most"),
        Goal(verification.SLOWEST, None, 25, "at most"),
        *(Goal(row, against, limit, "at most") for row, against, limit in stacks.limits()),
    )


def verdicts(rows: Mapping[str, Row], goals: Sequence[Goal]) -> list[Verdict]:
    return [Verdict(goal, _ratio(rows, goal), _is_void(rows, goal)) for goal in goals if goal.row in rows]


def _is_void(rows: Mapping[str, Row], goal: Goal) -> bool:
    return any(name in rows and rows[name].is_void for name in (goal.row, goal.against or goal.row))


def _ratio(rows: Mapping[str, Row], goal: Goal) -> float | None:
    value = rows[goal.row].value
    if goal.against is None:
        return value
    base = rows[goal.against].value if goal.against in rows else None
    return value / base if value is not None and base else None

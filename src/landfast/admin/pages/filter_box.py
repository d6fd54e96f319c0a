"""The filter box: what it offers to complete, and where a filter cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.pages.part import Part
from landfast.admin.problems import Problem
from landfast.domain.filter import FIELDS
from landfast.domain.lifecycle import State

AGES = ("15m", "1h", "2h", "24h", "7d")
VALUES_AT_MOST = 200
"""Terms that are offered: a list that is longer is not read, and every page carries it."""


@dataclass(frozen=True, slots=True)
class FilterError:
    sentence: str
    pointer: str
    """A line to stand below the filter: `        ^^^^^` under what cannot be read."""


def filter_error(parts: Mapping[str, Any]) -> FilterError | None:
    """Of the first part that could not read the filter."""
    problems = [part.problem for part in parts.values() if isinstance(part, Part) and part.problem]
    found = next((problem for problem in problems if problem.position is not None), None)
    return None if found is None else FilterError(found.detail, pointer(found))


def pointer(problem: Problem) -> str:
    return " " * (problem.position or 0) + "^" * max(1, problem.length or 1)


def terms(desk: Desk, errors: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
    """What the box completes: fields, and the values that are known without a question to the inbox."""
    offered = [
        *(f"state:{state}" for state in State),
        *(f"source:{name}" for name in sorted(desk.inbox.sources)),
        *(f"since:{age}" for age in AGES),
        *(f"handler:{handler.name}" for handler in desk.inbox.registry.handlers),
        *(f"error:{name}" for name in errors),
        *(f"type:{name}" for name in types),
        *(f"{name}:" for name in FIELDS),
    ]
    return list(dict.fromkeys(offered))[:VALUES_AT_MOST]

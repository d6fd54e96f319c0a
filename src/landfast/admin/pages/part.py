"""What one question of a page came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from landfast.admin.problems import Problem


@dataclass(frozen=True, slots=True)
class Part:
    """What one question came to: its answer, or why there is none."""

    value: Any = None
    problem: Problem | None = None

    @property
    def error(self) -> str:
        return self.problem.detail if self.problem else ""

    @property
    def fix(self) -> str:
        if self.problem is None or self.problem.status not in (500, 503):
            return ""
        return "The page asks again by itself; see Doctor, or landfast doctor, for what is wrong."

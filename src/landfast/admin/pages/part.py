"""What one question of a page came to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from landfast.admin.problems import Problem


@dataclass(frozen=True, slots=True)
class Working:
    """How far an answer is that is being worked out; nobody waits for it."""

    walked: int = 0
    of: int = 0
    """Zero where that is not known yet."""
    is_being_worked_out: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """What one question came to: its answer, or why there is none."""

    value: Any = None
    problem: Problem | None = None
    working: Working | None = None
    """In place of both: it is not there yet."""
    at: datetime | None = None
    """When it was asked: some answers are shared for a while."""

    @property
    def told(self) -> Any:
        """As JSON has it."""
        return self.problem or self.working or self.value

    @property
    def error(self) -> str:
        return self.problem.detail if self.problem else ""

    @property
    def fix(self) -> str:
        if self.problem is None or self.problem.status not in (500, 503):
            return ""
        return "The page asks again by itself; see Doctor, or landfast doctor, for what is wrong."

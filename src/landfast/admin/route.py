"""One row of the table of routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from landfast.admin.desk import Desk
from landfast.domain.access import Operator, Role

Question = Callable[[Desk, Any], Awaitable[msgspec.Struct]]
Command = Callable[[Desk, Any, Operator], Awaitable[msgspec.Struct]]


QUESTION_SECONDS = 5.0
"""For an answer: whoever looks at a page has given up by then, and the inbox has better things to do."""

LONG_SECONDS = 60.0
"""For what goes through much, and is asked for rarely: the proof, the doctor, the whole operator log."""


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """No parameters."""


@dataclass(frozen=True, slots=True)
class Route:
    """`path` may have names in braces, which are fields of `parameters`. The other fields come from the query of a GET,
    and from the JSON body of a POST."""

    method: Literal["GET", "POST"]
    path: str
    role: Role
    function: Question | Command
    parameters: type[msgspec.Struct]
    answer: type[msgspec.Struct]
    seconds: float = QUESTION_SECONDS
    """Of a question: after which nobody waits for it any more."""

    @property
    def name(self) -> str:
        """What the OpenAPI document calls it."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    @property
    def is_change(self) -> bool:
        return self.method == "POST"


def question(
    path: str,
    function: Question,
    parameters: type,
    answer: type,
    role: Role = Role.VIEWER,
    seconds: float = QUESTION_SECONDS,
) -> Route:
    return Route("GET", path, role, function, parameters, answer, seconds)


def command(path: str, function: Command, parameters: type, answer: type, role: Role = Role.OPERATOR) -> Route:
    return Route("POST", path, role, function, parameters, answer)

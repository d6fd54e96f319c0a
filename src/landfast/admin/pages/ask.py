"""How a page asks: the functions of the table of routes, each with its role, and each answer for itself.

One question that fails takes no page down, and is never shown as an empty table: its part says what went wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from starlette.requests import Request

from landfast.admin.access.guard import require
from landfast.admin.desk import Desk
from landfast.admin.endpoint import call, parameters_of
from landfast.admin.pages.part import Part
from landfast.admin.pages.shared import Shared
from landfast.admin.pages.standing_proof import StandingProof
from landfast.admin.problems import problem_of
from landfast.admin.questions.overview import recent_overview
from landfast.admin.route import Route
from landfast.admin.routes import ROUTES
from landfast.domain.access import Operator

QUESTIONS: Mapping[str, Route] = {route.name: route for route in ROUTES if not route.is_change}
"""By the names that the OpenAPI document has."""


RECENT: Mapping[str, Route] = {
    "overview.overview": replace(QUESTIONS["overview.overview"], function=recent_overview),
}
"""Where an answer that is shared goes by what was looked up for all."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks, and for what page."""

    desk: Desk
    request: Request
    operator: Operator
    answers: Shared
    standing_proof: StandingProof

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def path(self) -> Mapping[str, Any]:
        return self.request.path_params

    async def shared(self, name: str, seconds: float, **given: Any) -> Part:
        """An answer that is as old as that at most: for what costs, and is the same for everybody who may see it."""
        route = RECENT.get(name, QUESTIONS[name])
        require(self.request, route.role)
        return await self.answers.get(f"{name} {sorted(given.items())}", seconds, lambda: self._answer(route, given))

    async def proof(self, seconds: float) -> Part:
        """As old as that at most, or how far it is."""
        require(self.request, QUESTIONS["proof.proof"].role)
        return await self.standing_proof.get(seconds)

    async def __call__(self, name: str, **given: Any) -> Part:
        return await self._answer(QUESTIONS[name], given)

    async def _answer(self, route: Route, given: Mapping[str, Any]) -> Part:
        at = self.desk.now()
        try:
            require(self.request, route.role)
            return Part(await call(route, self.desk, parameters_of(route, given), self.operator), at=at)
        except Exception as error:  # noqa: BLE001 - whatever it is, its part of the page says so
            return Part(problem=problem_of(error))


def status_of(parts: Mapping[str, Any]) -> int:
    """Of the page: that of the worst of its parts."""
    return max((part.problem.status for part in parts.values() if isinstance(part, Part) and part.problem), default=200)


def as_json(parts: Mapping[str, Any]) -> bytes:
    """What the page was drawn from."""
    told = {name: part.told if isinstance(part, Part) else part for name, part in parts.items()}
    return msgspec.json.encode(told, enc_hook=_plain)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)

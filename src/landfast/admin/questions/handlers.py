"""Handlers: what each does, how it fares, whether it is paused or its breaker open; and what they depend on."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Minutes
from landfast.domain.switch import Switch, SwitchKind
from landfast.operations.flow_status import HandlerStatus
from landfast.operations.status import WINDOW_MINUTES, status
from landfast.processing.control.breakers import HANDLER_PREFIX
from landfast.processing.control.dependencies import breaker_of
from landfast.processing.handlers.registry import Handler


class HandlersAsked(Asked):
    minutes: Minutes = WINDOW_MINUTES


class Declared(Answered):
    """As the code says it."""

    source: str
    pattern: str
    function: str
    attempts: int | None
    retries_seconds: float
    deadline: float
    is_ordered: bool
    is_async: bool
    lifecycle: str | None
    uses: Sequence[str]


class HandlerView(Answered):
    name: str
    declared: Sequence[Declared]
    """More than one where several patterns lead to it; none where it is not in the code any more."""
    flow: HandlerStatus
    paused: Switch | None
    breaker: Switch | None


class DependencyView(Answered):
    name: str
    paused: Switch | None
    breaker: Switch | None


class Handlers(Answered):
    minutes: int
    handlers: Sequence[HandlerView]
    dependencies: Sequence[DependencyView]


async def handlers(desk: Desk, asked: HandlersAsked) -> Handlers:
    """Every handler: as it is declared, how it fares, whether it is paused or its breaker open."""
    registry = desk.inbox.registry
    names = [handler.name for handler in registry.handlers]
    seen = await status(desk.archive, now=desk.now(), handlers=names, minutes=asked.minutes)
    pauses = {(one.kind, one.name): one for one in seen.pauses}
    breakers = {one.name: one for one in seen.breakers}
    return Handlers(
        minutes=asked.minutes,
        handlers=[
            HandlerView(
                name=flow.name,
                declared=[_declared(one) for one in registry.handlers if one.name == flow.name],
                flow=flow,
                paused=pauses.get((SwitchKind.HANDLER, flow.name)),
                breaker=breakers.get(f"{HANDLER_PREFIX}{flow.name}"),
            )
            for flow in seen.handlers
        ],
        dependencies=[
            DependencyView(
                name=name,
                paused=pauses.get((SwitchKind.DEPENDENCY, name)),
                breaker=breakers.get(breaker_of(name)),
            )
            for name in sorted(registry.used)
        ],
    )


def _declared(one: Handler) -> Declared:
    function = one.function
    return Declared(
        source=one.source,
        pattern=one.pattern,
        function=f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', one.name)}",
        attempts=one.attempts,
        retries_seconds=one.backoff.total,
        deadline=one.deadline,
        is_ordered=one.ordered,
        is_async=one.is_async,
        lifecycle=one.lifecycle,
        uses=list(one.uses),
    )

"""Arrivals as users declare them, and what is wrong with them: told when a process starts, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landfast.app.lifecycles import Given, read_entity
from landfast.config import SourceSettings, nearest
from landfast.domain.arrival import Arrival
from landfast.domain.errors import ConfigError
from landfast.domain.ids import HandlerName
from landfast.processing.handlers.registry import Handler, Registry


def arrival(source: str, type_: str, *, entity: Given | None, handler: str | None) -> Arrival:
    """As `Inbox.arrival` is given it. ConfigError for what cannot be meant."""
    what = f"arrival {source}:{type_}"
    if not isinstance(type_, str) or not type_ or "*" in type_:
        raise ConfigError(f"{what}: the type is {type_!r}; name one type, such as 'charge.succeeded'")
    named = None if handler is None else HandlerName(handler)
    return Arrival(source=source, type=type_, entity=read_entity(what, entity), handler=named)


def check_arrivals(registry: Registry, sources: Mapping[str, SourceSettings]) -> None:
    """Once all handlers and sources are declared: one that nobody handles would never come."""
    for each in registry.arrivals:
        what = f"arrival {each.label}"
        if each.source not in sources:
            hint = nearest(each.source, sources) or f"; there are {', '.join(sources)}"
            raise ConfigError(f"{what}: there is no source {each.source!r}{hint}")
        _check_handled(what, each, registry.handlers_for(each.source, each.type), registry)


def _check_handled(what: str, each: Arrival, handlers: Sequence[Handler], registry: Registry) -> None:
    names = [handler.name for handler in handlers]
    if not names:
        taken = sorted({one.pattern for one in registry.handlers if one.source == each.source})
        hint = nearest(each.type, taken) or f"; its handlers take {', '.join(taken) or 'nothing'}"
        raise ConfigError(f"{what}: no handler of {each.source} takes {each.type!r}, so it would never come{hint}")
    if each.handler is not None and each.handler not in names:
        hint = nearest(each.handler, names) or f"; there are {', '.join(names)}"
        raise ConfigError(f"{what}: no handler {each.handler!r} takes it{hint}")
    if each.handler is None and len(names) > 1:
        raise ConfigError(
            f"{what}: {' and '.join(names)} take it; say whose COMMIT others wait for, such as handler={names[0]!r}"
        )

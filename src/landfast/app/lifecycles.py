"""Lifecycles as users declare them, and what is wrong with them: told when a process starts, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from landfast.app.sources import profile_of
from landfast.config import SourceSettings, nearest
from landfast.domain.errors import ConfigError
from landfast.domain.event import Event
from landfast.domain.machine import ABSENT, Machine, Read
from landfast.domain.patterns import matches, overlap
from landfast.domain.reading import field_at, is_path, name_in
from landfast.processing.handlers.registry import Handler, Registry

NAME_CHARACTERS_AT_MOST = 100
"""Of a lifecycle and of a state: as the columns of every ledger have it."""

Follow = str | Collection[str]
Given = str | Mapping[str, str] | Callable[[Event], Any]
"""A path in the data; by patterns of types; or a function of the event."""


def machine(
    name: str,
    *,
    states: Sequence[str],
    transitions: Mapping[str, Follow],
    state_of: Given,
    entity: Given | None,
    deadline: float,
    on_deadline: str,
) -> Machine:
    """As `Inbox.lifecycle` is given it. ConfigError for what cannot be meant."""
    what = f"lifecycle {name}"
    _must_be_names(what, [name, *states])
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
        raise ConfigError(f"{what}: deadline is {deadline!r}; it must be a number of seconds, more than 0")
    if on_deadline not in ("dead", "run"):
        raise ConfigError(f"{what}: on_deadline is {on_deadline!r}; it is 'dead' or 'run'")
    follow = _transitions(what, list(states), transitions)
    types = dict(state_of) if isinstance(state_of, Mapping) else {}
    for pattern, state in types.items():
        _must_be_known(what, f"state_of[{pattern!r}]", state, list(states))
    _must_be_reached(what, list(states), follow, set(types.values()) if types else None)
    return Machine(
        name=name,
        states=tuple(states),
        transitions=follow,
        entity=read_entity(what, entity),
        state_of=_state_of(what, state_of),
        types=types,
        deadline=float(deadline),
        runs_at_deadline=on_deadline == "run",
    )


def check_rules(registry: Registry, sources: Mapping[str, SourceSettings]) -> None:
    """Handlers and the rules that they name, once all of both are declared."""
    for handler in registry.handlers:
        if handler.newest_only and handler.source in sources:
            _check_newest(handler, sources[handler.source])
        if handler.lifecycle is not None and handler.lifecycle not in registry.machines:
            known = list(registry.machines)
            hint = nearest(handler.lifecycle, known) or f"; there are {', '.join(known) or 'none'}"
            raise ConfigError(f"handler {handler.name}: there is no lifecycle {handler.lifecycle!r}{hint}")
    for each in registry.machines.values():
        _check_attached(each, [handler for handler in registry.handlers if handler.lifecycle == each.name])


def check_newest_only(handler: str, *, path: bool | str) -> None:
    if not isinstance(path, bool) and not is_path(path):
        raise ConfigError(
            f"handler {handler}: newest_only is {path!r}; it is True, or the path of a version in the data,"
            ' such as "data.object.version"'
        )


def check_entity(handler: str, *, path: object, is_used: bool) -> None:
    if path is None:
        return
    if not is_used:
        raise ConfigError(
            f"handler {handler}: entity is what newest_only goes by, and this handler has none; ordered=True goes by"
            " ordered_by of the source, and a lifecycle by an entity= of its own"
        )
    if not is_path(path):
        raise ConfigError(f'handler {handler}: entity is {path!r}; it is a path in the data, such as "data.object.id"')


def _check_newest(handler: Handler, settings: SourceSettings) -> None:
    profile = profile_of(settings)
    what = f"handler {handler.name}: newest_only"
    if not profile.entity and handler.entity is None:
        raise ConfigError(
            f"{what} needs to know what an event is about, and {profile.name} does not say that of source"
            f' {handler.source}; say where it stands, such as entity="data.object.id"'
        )
    if settings.ordered_by is not None and handler.entity is None:
        raise ConfigError(
            f"{what} would go by ordered_by of source {handler.source}, {settings.ordered_by!r}, and pass over an event"
            f" about one thing for a newer one about another; say what it goes by, such as"
            f' entity="data.object.id", or entity={settings.ordered_by!r} if that is meant'
        )
    if handler.newest_only is True and (not profile.occurred_at or profile.time_of_object):
        found = "is that of the object, and not of the change" if profile.time_of_object else "is not there"
        raise ConfigError(
            f"{what}=True goes by the time of the sender, which {found} in what {profile.name} sends;"
            ' write newest_only="..." with the path of a version in the data'
        )


def _check_attached(each: Machine, handlers: Sequence[Handler]) -> None:
    what = f"lifecycle {each.name}"
    if not handlers:
        raise ConfigError(f"{what}: no handler has it; write lifecycle={each.name!r} in on(...), or remove it")
    for number, one in enumerate(handlers):
        for other in handlers[number + 1 :]:
            if one.source == other.source and overlap(one.pattern, other.pattern):
                raise ConfigError(
                    f"{what}: the handlers {one.name} and {other.name} can take the same event, and only one of them"
                    " can move its entity; take lifecycle= from one of the two"
                )
    for pattern in each.types:
        if not any(overlap(pattern, handler.pattern) for handler in handlers):
            taken = sorted({handler.pattern for handler in handlers})
            hint = nearest(pattern, taken) or f"; they take {', '.join(taken)}"
            raise ConfigError(f"{what}: state_of has {pattern!r}, which no handler of this lifecycle takes{hint}")


def _must_be_names(what: str, names: Iterable[object]) -> None:
    given: set[object] = set()
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS_AT_MOST or not name.isprintable():
            raise ConfigError(f"{what}: {name!r} is no name; use 1 to {NAME_CHARACTERS_AT_MOST} printable characters")
    for state in list(names)[1:]:
        if state == ABSENT or state in given:
            why = "is every entity's first state, and is not declared" if state == ABSENT else "stands there twice"
            raise ConfigError(f"{what}: in states, {state!r} {why}")
        given.add(state)


def _transitions(what: str, states: list[str], given: Mapping[str, Follow]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for state, follow in given.items():
        if state != ABSENT:
            _must_be_known(what, "transitions", state, states)
        follows = (follow,) if isinstance(follow, str) else tuple(follow)
        for each in follows:
            _must_be_known(what, f"transitions[{state!r}]", each, states)
        found[state] = tuple(sorted(set(follows), key=states.index))
    if not found.get(ABSENT):
        raise ConfigError(f"{what}: nothing leads on from {ABSENT!r}, so no entity ever begins; add it to transitions")
    return found


def _must_be_known(what: str, where: str, state: object, states: list[str]) -> None:
    if state not in states:
        hint = nearest(str(state), states) or f"; there are {', '.join(states)}"
        raise ConfigError(f"{what}: {where} has {state!r}, which is not in states{hint}")


def _must_be_reached(
    what: str, states: list[str], follow: Mapping[str, tuple[str, ...]], led_to: Collection[str] | None
) -> None:
    reached, new = {ABSENT}, {ABSENT}
    while new:
        new = {state for each in new for state in follow.get(each, ())} - reached
        new = {state for state in new if led_to is None or state in led_to}
        reached |= new
    for state in states:
        if led_to is not None and state not in led_to:
            raise ConfigError(f"{what}: no type of state_of leads to {state!r}; add one, or remove the state")
        if state not in reached:
            raise ConfigError(f"{what}: {state!r} cannot be reached from {ABSENT!r}; add a transition, or remove it")


def read_entity(what: str, given: Given | None) -> Read:
    """The event's own, unless it is said where it stands."""
    if given is None:
        return lambda event: event.entity
    return _by_type(what, "entity", given) if isinstance(given, Mapping) else _read(what, "entity", given)


def _state_of(what: str, given: Given) -> Read:
    if isinstance(given, Mapping):
        patterns = list(given.items())
        return lambda event: next((state for pattern, state in patterns if matches(pattern, event.type)), None)
    return _read(what, "state_of", given)


def _by_type(what: str, where: str, given: Mapping[str, str]) -> Read:
    paths = [(pattern, _read(what, f"{where}[{pattern!r}]", path)) for pattern, path in given.items()]
    return lambda event: next((read(event) for pattern, read in paths if matches(pattern, event.type)), None)


def _read(what: str, where: str, given: object) -> Read:
    if callable(given):
        return given
    if isinstance(given, str) and is_path(given):
        path = given
        return lambda event: name_in(field_at(event.data, path))
    raise ConfigError(
        f'{what}: {where} is {given!r}; it is a path in the data such as "data.object.id", a mapping of types, or a'
        " function of the event"
    )

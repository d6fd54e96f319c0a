"""What a handler asks for: `(event)`, `(event, tx)`, `(event, session)`, ... By the annotation of a parameter, or else
by its name."""

from __future__ import annotations

import contextlib
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from landfast.domain.errors import ConfigError

TX = "tx"
"""Landfast's own transaction. The other kinds are the ledger's to give: `session` and `connection`."""

_BY_NAME = {"tx": TX, "session": "session", "conn": "connection", "connection": "connection"}
_REST = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
_OURS = frozenset({"Transaction", "BlockingTransaction"})
_ANYTHING = frozenset({inspect.Parameter.empty, object, Any})


@dataclass(frozen=True, slots=True)
class Asked:
    """The kinds of what is given after the event: by position, and by name."""

    by_position: tuple[str, ...] = (TX,)
    by_name: Mapping[str, str] | None = None

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self.by_position) | frozenset((self.by_name or {}).values())


def asked_by(function: Callable[..., Any], what: str, offers: Mapping[str, str], ledger: str) -> Asked:
    """`offers` are the types that the ledger gives, by module and name, and their kinds; `ledger` is what it is called.
    ConfigError for a parameter that nobody can fill."""
    first, *others = _parameters(function, what)
    if first.kind is inspect.Parameter.VAR_POSITIONAL:
        return Asked()
    hints = _hints(function)
    by_position: list[str] = []
    by_name: dict[str, str] = {}
    for number, parameter in enumerate(others):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL and not by_position:
            by_position.append(TX)
        if parameter.kind in _REST:
            continue
        kind = _kind(parameter, hints.get(parameter.name, parameter.annotation), offers, is_second=not number)
        is_filled = kind == TX or kind in offers.values()
        if not is_filled and (kind is not None or parameter.default is inspect.Parameter.empty):
            raise ConfigError(f"{what}: {_unfilled(parameter, offers, ledger)}")
        if kind is not None and (parameter.kind is inspect.Parameter.KEYWORD_ONLY or len(by_position) < number):
            by_name[parameter.name] = kind
        elif kind is not None:
            by_position.append(kind)
    return Asked(tuple(by_position), by_name or None)


def asked_by_step(function: Callable[..., Any], offers: Mapping[str, str]) -> Asked | None:
    """Which parameters of an effect are a transaction, or the session or connection of one: by annotation, or by the
    name `tx`. None where it wants none, and so writes nothing that must happen exactly once."""
    hints = _hints(function)
    _, *others = inspect.signature(function).parameters.values()
    by_name = {}
    for parameter in others:
        hint = hints.get(parameter.name, parameter.annotation)
        kind = None if hint is inspect.Parameter.empty else _kind_of_type(hint, offers)
        if kind is None and parameter.name == "tx" and hint in _ANYTHING:
            kind = TX
        if kind is not None:
            by_name[parameter.name] = kind
    return Asked((), by_name) if by_name else None


def _parameters(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    """At least one that takes the event."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    yields = inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)
    by_name_only = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    if yields or not parameters or parameters[0].kind in by_name_only:
        raise ConfigError(f"{what}: it must be a function that takes (event, tx) and does not yield")
    return parameters


def _kind(parameter: inspect.Parameter, hint: object, offers: Mapping[str, str], *, is_second: bool) -> str | None:
    if hint is not inspect.Parameter.empty and (kind := _kind_of_type(hint, offers)):
        return kind
    if kind := _BY_NAME.get(parameter.name):
        # A class that the ledger does not give, such as the session of the other kind of engine, gets nothing.
        return kind if kind == TX or not isinstance(hint, type) or hint in _ANYTHING else None
    is_plain = is_second and parameter.default is inspect.Parameter.empty
    return TX if is_plain and parameter.kind is not inspect.Parameter.KEYWORD_ONLY else None


def _kind_of_type(hint: object, offers: Mapping[str, str]) -> str | None:
    if isinstance(hint, str):  # its name could not be looked up: imported for the type checker only
        last = hint.partition("[")[0].rpartition(".")[2].strip()
        by_last_name = {name.rpartition(".")[2]: kind for name, kind in offers.items()}
        return TX if last in _OURS else by_last_name.get(last)
    hint = typing.get_origin(hint) or hint
    if not isinstance(hint, type):
        return None
    for base in hint.__mro__:
        name = f"{base.__module__}.{base.__qualname__}"
        if base.__name__ in _OURS and base.__module__.startswith("landfast."):
            return TX
        if name in offers:
            return offers[name]
    return None


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Each annotation by itself: one that cannot be looked up must not hide the others."""
    found: dict[str, Any] = {}
    target = inspect.unwrap(function)
    for name, annotation in getattr(target, "__annotations__", {}).items():
        found[name] = annotation
        if isinstance(annotation, str):
            with contextlib.suppress(Exception):  # whatever it is, its name is all that we know
                found[name] = eval(annotation, getattr(target, "__globals__", {}))  # noqa: S307 - the user's own source
    return found


def _unfilled(parameter: inspect.Parameter, offers: Mapping[str, str], ledger: str) -> str:
    types = ", ".join(sorted(name.rpartition(".")[2] for name in offers)) or "nothing"
    return (
        f"the {ledger} ledger has nothing to give for its parameter {parameter.name!r};"
        f" besides (event, tx) it gives {types}"
    )

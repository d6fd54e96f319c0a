"""Whether a function of the user's can be called as Landfast calls it, said when it is registered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from landfast.config import nearest
from landfast.domain.errors import ConfigError
from landfast.domain.event import Effect

P = ParamSpec("P")
R = TypeVar("R")


def known_options(function: Callable[P, R]) -> Callable[P, R]:
    """Of a method of Inbox: an option that it does not have is a ConfigError, which names the one that was meant."""
    known = [*inspect.signature(function).parameters][1:]

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        for option in options:
            if option not in known:
                hint = nearest(option, known) or f"; it has {', '.join(known)}"
                raise ConfigError(f"{function.__name__}: there is no option {option!r}{hint}")
        return function(*args, **options)

    return checked


def name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise ConfigError(
            "a handler or effect without a name of its own needs name=, which its receipts are kept under"
        )
    return name


def must_take(function: Callable[..., Any], what: str, shape: str, bind: Callable[[inspect.Signature], object]) -> None:
    try:
        bind(inspect.signature(function))
        fits = not inspect.isasyncgenfunction(function) and not inspect.isgeneratorfunction(function)
    except TypeError:
        fits = False
    if not fits:
        raise ConfigError(f"{what}: it must be a function that takes {shape} and does not yield")


def must_take_itself_first(function: Callable[..., Any], what: str) -> None:
    """Otherwise `tx.stage(f, order_id=1)` meets an `order_id` that the Effect was already given for."""
    first = next(iter(inspect.signature(function).parameters.values()))
    by_keyword = first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    if by_keyword and first.name != "effect" and first.annotation not in (Effect, "Effect", "landfast.Effect"):
        raise ConfigError(
            f"{what}: its first parameter is given the Effect, and is called {first.name!r};"
            f" put effect before it, or write {first.name}: Effect"
        )

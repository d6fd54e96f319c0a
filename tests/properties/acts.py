"""Acts: methods of a state machine, each drawn when it is possible, with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

F = TypeVar("F", bound=Callable[..., None])

DATA: Any = object()
"""Instead of a strategy: hand over what draws, for an act that draws by itself."""


def act(*, when: Callable[[Any], Any] = lambda _: True, weight: int = 1, **given: Any) -> Callable[[F], F]:
    """This method may be drawn, `when` that holds, and `weight` times as often as others."""

    def mark(method: F) -> F:
        method.__dict__["act"] = (when, given, weight)
        return method

    return mark


def drawn(machine: Any, data: st.DataObject) -> None:
    """Draw one of the acts that are possible now, and do it."""
    found = {name: method for name, method in _all(type(machine)).items() if hasattr(method, "act")}
    possible = [name for name, method in found.items() if method.act[0](machine) for _ in range(method.act[2])]
    name = data.draw(st.sampled_from(possible), label="act")
    given = found[name].act[1].items()
    arguments = {each: data if of is DATA else data.draw(of, label=each) for each, of in given}
    found[name](machine, **arguments)


def _all(kind: type) -> dict[str, Any]:
    return {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}

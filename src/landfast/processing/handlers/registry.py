"""What the user's application registered: which function handles which events, and which perform effects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from landfast.domain.backoff import Backoff
from landfast.domain.errors import ConfigError
from landfast.domain.ids import HandlerName
from landfast.domain.isolation import LEVELS
from landfast.domain.patterns import matches
from landfast.domain.unhandled import Unhandled, Wants

_KEEP = Wants()

CONCURRENCY_AT_MOST = 256
"""As many as a worker can have hands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    name: HandlerName
    """Part of every receipt: renaming a function without `name=` makes a new handler in the ledger's eyes."""
    source: str
    pattern: str
    function: Callable[..., Any]
    attempts: int | None
    """At most so many; without a number, the time that the backoff gives is the only limit."""
    backoff: Backoff
    deadline: float
    isolation: str | None
    group: bool
    """Whether events may share one ledger transaction when there is a backlog."""
    concurrency: int | None = None
    """How many of its events may run at the same time in one worker process; None for the share that each has. A
    suspect runs beside it, in another process, and does not count."""
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.function))

    def takes(self, source: str, type_: str) -> bool:
        return self.source == source and matches(self.pattern, type_)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectHandler:
    name: str
    function: Callable[..., Any]
    attempts: int | None
    backoff: Backoff
    deadline: float

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


class Registry:
    def __init__(self) -> None:
        self.handlers: list[Handler] = []
        self.effects: dict[str, EffectHandler] = {}
        self.wants: Mapping[str, Wants] = {}
        """What each source says about types that nobody takes. A source that says nothing keeps them."""
        self.source_limits: Mapping[str, int] = {}
        """How many events of a source may run at the same time in one worker process, where that is limited."""
        self._known: dict[tuple[str, str], tuple[Handler, ...]] = {}

    def add_handler(self, handler: Handler) -> None:
        _check_options(f"handler {handler.name}", handler.attempts, handler.deadline, handler.backoff)
        if any(other.name == handler.name for other in self.handlers):
            raise ConfigError(f"handler {handler.name}: the name is taken; give one of the two a name= of its own")
        if handler.isolation is not None and handler.isolation not in LEVELS:
            raise ConfigError(f"handler {handler.name}: isolation is one of {', '.join(LEVELS)}")
        if handler.concurrency is not None and not (
            _is_whole(handler.concurrency) and 1 <= handler.concurrency <= CONCURRENCY_AT_MOST
        ):
            raise ConfigError(
                f"handler {handler.name}: concurrency is {handler.concurrency!r};"
                f" it must be a whole number from 1 to {CONCURRENCY_AT_MOST}, or left out"
            )
        self.handlers.append(handler)
        self._known.clear()

    def add_effect(self, effect: EffectHandler) -> None:
        _check_options(f"effect {effect.name}", effect.attempts, effect.deadline, effect.backoff)
        if effect.name in self.effects:
            raise ConfigError(f"effect {effect.name}: the name is taken; give one of the two a name= of its own")
        self.effects[effect.name] = effect

    def longest_deadline(self) -> float:
        """Of all handlers and effects, in seconds."""
        deadlines = [handler.deadline for handler in self.handlers]
        return max(deadlines + [effect.deadline for effect in self.effects.values()], default=0.0)

    def wants_of(self, source: str) -> Wants:
        return self.wants.get(source, _KEEP)

    def lets_go(self, source: str, type_: str) -> bool:
        """Whether an event that was unhandled would be something else if it were tried now."""
        wants = self.wants_of(source)
        is_kept = wants.unhandled is Unhandled.KEEP and not wants.ignores(type_)
        return not is_kept or bool(self.handlers_for(source, type_))

    def handlers_for(self, source: str, type_: str) -> Sequence[Handler]:
        known = self._known.get((source, type_))
        if known is None:
            known = tuple(handler for handler in self.handlers if handler.takes(source, type_))
            if len(self._known) < 10_000:  # types come from verified senders, but a sender may still make them up
                self._known[source, type_] = known
        return known


def _check_options(what: str, attempts: int | None, deadline: float, backoff: Backoff) -> None:
    if attempts is not None and not (_is_whole(attempts) and attempts >= 1):
        raise ConfigError(
            f"{what}: attempts is {attempts!r}; it must be a whole number of 1 or more,"
            " or None for as long as the backoff says"
        )
    if not (_is_number(deadline) and 0 < deadline <= 3600):
        raise ConfigError(
            f"{what}: deadline is {deadline!r}; it must be a number of seconds, more than 0 and at most 3600"
        )
    if not isinstance(backoff, Backoff):
        raise ConfigError(f"{what}: backoff is {backoff!r}; it must be a Backoff, such as Backoff(total=86_400)")
    parts = (backoff.first, backoff.factor, backoff.longest, backoff.total)
    if not all(map(_is_number, parts)):
        raise ConfigError(f"{what}: backoff takes numbers for first, factor, longest and total")
    if backoff.first <= 0 or backoff.factor < 1 or backoff.longest < backoff.first or backoff.total <= 0:
        raise ConfigError(f"{what}: backoff needs first > 0, factor >= 1, longest >= first and total > 0")


def _is_whole(given: object) -> bool:
    """What a user's code gives need not be what its annotation says; True would pass for 1."""
    return isinstance(given, int) and not isinstance(given, bool)


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)

"""What the user's application registered: which function handles which events, and which perform effects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from landfast.domain.arrival import Arrival
from landfast.domain.backoff import Backoff
from landfast.domain.dependency import Dependency
from landfast.domain.errors import ConfigError
from landfast.domain.ids import HandlerName, is_step
from landfast.domain.isolation import LEVELS
from landfast.domain.machine import Machine
from landfast.domain.patterns import matches
from landfast.domain.unhandled import Unhandled, Wants
from landfast.processing.handlers.parameters import Asked

_KEEP = Wants()

CONCURRENCY_AT_MOST = 256
"""As many as a worker can have hands."""


class OnDead(StrEnum):
    """What becomes of a lane in which an event is dead."""

    BLOCK = "block"
    """Its lane waits until an operator replays it, closes it, or has it skipped."""
    SKIP = "skip"
    """Its lane goes on without it."""


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
    ordered: bool = False
    """Whether it takes the events of one entity one after the other, as they occurred."""
    on_dead: OnDead = OnDead.BLOCK
    """Of an ordered handler: what a dead letter does to what comes after it."""
    writes: bool = True
    """Whether it is meant to write, or to stage effects. One that never does, and is, writes somewhere else."""
    newest_only: bool | str = False
    """Whether an event is passed over once a newer one of its entity is done: by the sender's time, or by the version
    at this path of its data."""
    entity: str | None = None
    """What `newest_only` goes by, a path in the data; the event's own entity unless it is given."""
    lifecycle: str | None = None
    """The name of the one that says from which states its events are legal."""
    asked: Asked = Asked()  # noqa: RUF009 - frozen
    """What it is given besides the event."""
    answers: bool = False
    """Whether what it returns is the answer to a call, and somebody may wait for it."""
    uses: tuple[str, ...] = ()
    """What it depends on, by name: while that is away it waits."""
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.function))

    @property
    def may_group(self) -> bool:
        """Not if it calls others: what it told them is not rolled back with a neighbour's transaction."""
        return self.group and not self.uses

    @property
    def has_rules(self) -> bool:
        """Whether some events of a group may not run, as their lanes tell."""
        return bool(self.newest_only or self.lifecycle)

    def takes(self, source: str, type_: str) -> bool:
        return self.source == source and matches(self.pattern, type_)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectHandler:
    name: str
    function: Callable[..., Any]
    attempts: int | None
    backoff: Backoff
    deadline: float
    asked: Asked | None = None
    """The transaction that it writes on, where it wants one: then it runs exactly once, by a receipt of its own."""
    uses: tuple[str, ...] = ()

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadHook:
    """A function that is told of dead letters."""

    name: str
    function: Callable[..., Any]
    deadline: float

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


class Registry:
    def __init__(self) -> None:
        self.handlers: list[Handler] = []
        self.effects: dict[str, EffectHandler] = {}
        self.dead_hooks: dict[str, DeadHook] = {}
        self.machines: dict[str, Machine] = {}
        """The lifecycles, by their names."""
        self.arrivals: list[Arrival] = []
        """Events that steps of others may wait for."""
        self.dependencies: dict[str, Dependency] = {}
        """Those of which something is said: a rate. Others are known because somebody uses them."""
        self.wants: Mapping[str, Wants] = {}
        """What each source says about types that nobody takes. A source that says nothing keeps them."""
        self.source_limits: Mapping[str, int] = {}
        """How many events of a source may run at the same time in one worker process, where that is limited."""
        self._known: dict[tuple[str, str], tuple[Handler, ...]] = {}

    def add_handler(self, handler: Handler) -> None:
        _check_name(f"handler {handler.name}", handler.name)
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
        if handler.ordered and handler.lifecycle is not None:
            raise ConfigError(
                f"handler {handler.name}: ordered and lifecycle are two ways to wait for an earlier event; choose one"
            )
        if not isinstance(handler.ordered, bool):
            raise ConfigError(f"handler {handler.name}: ordered is {handler.ordered!r}; it is True or False")
        if not handler.ordered and handler.on_dead is not OnDead.BLOCK:
            raise ConfigError(f"handler {handler.name}: on_dead is for ordered ones; add ordered=True, or remove it")
        self.handlers.append(handler)
        self._known.clear()

    def add_effect(self, effect: EffectHandler) -> None:
        _check_name(f"effect {effect.name}", effect.name)
        _check_options(f"effect {effect.name}", effect.attempts, effect.deadline, effect.backoff)
        if effect.name in self.effects:
            raise ConfigError(f"effect {effect.name}: the name is taken; give one of the two a name= of its own")
        self.effects[effect.name] = effect

    def add_dead_hook(self, hook: DeadHook) -> None:
        _check_options(f"on_dead {hook.name}", None, hook.deadline, Backoff())
        if hook.name in self.dead_hooks:
            raise ConfigError(f"on_dead {hook.name}: the name is taken; give one of the two a name= of its own")
        self.dead_hooks[hook.name] = hook

    def add_arrival(self, arrival: Arrival) -> None:
        if any((other.source, other.type) == (arrival.source, arrival.type) for other in self.arrivals):
            # Two that read the entity in two places would take the one's for the other's.
            raise ConfigError(f"arrival {arrival.label}: it is there already; use what the first one returned")
        self.arrivals.append(arrival)

    def add_dependency(self, dependency: Dependency) -> None:
        if dependency.name in self.dependencies:
            raise ConfigError(
                f"dependency {dependency.name}: it is there already; keep it in landfast.toml or in the code, not twice"
            )
        self.dependencies[dependency.name] = dependency

    @property
    def used(self) -> frozenset[str]:
        """The dependencies of all handlers and effects."""
        names = [one.uses for one in self.handlers] + [one.uses for one in self.effects.values()]
        return frozenset(chain(*names))

    def breakers(self) -> list[str]:
        """The names of those that there may be for these."""
        handlers = [f"handler:{one.name}" for one in self.handlers]
        return [*handlers, *(f"dependency:{name}" for name in sorted(self.used))]

    def wrapped(
        self,
        *,
        handler: Callable[[Handler], Callable[..., Any]],
        effect: Callable[[EffectHandler], Callable[..., Any]],
    ) -> Registry:
        """A copy with other functions, which take and return the same."""
        copied = Registry()
        copied.handlers = [replace(each, function=handler(each)) for each in self.handlers]
        copied.effects = {name: replace(each, function=effect(each)) for name, each in self.effects.items()}
        copied.dead_hooks = dict(self.dead_hooks)
        copied.machines = dict(self.machines)
        copied.arrivals = list(self.arrivals)
        copied.dependencies = dict(self.dependencies)
        return copied

    @property
    def ordered_sources(self) -> Sequence[str]:
        """Those of which an ordered handler takes events."""
        return sorted({handler.source for handler in self.handlers if handler.ordered})

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


def on_dead_of(handler: str, given: str) -> OnDead:
    if given not in (*OnDead,):
        raise ConfigError(f'handler {handler}: on_dead is {given!r}; it is "block" or "skip"')
    return OnDead(given)


def _check_name(what: str, name: str) -> None:
    if is_step(name):
        # Else the receipt of a handler a/b would pass for that of the step b of a handler a.
        raise ConfigError(f"{what}: a name has no '/', which stands between a handler and its step; use another name=")


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

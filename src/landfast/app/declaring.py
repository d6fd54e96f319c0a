"""The part of an Inbox that puts declarations together: handlers and their rules, dead-letter hooks, lifecycles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from landfast.app.arrivals import arrival, check_arrivals
from landfast.app.function_shapes import must_take, name_of
from landfast.app.handler_parameters import asked_of_ledger
from landfast.app.lifecycles import Follow, Given, check_entity, check_newest_only, check_rules, machine
from landfast.app.sources import check_dependencies, check_handlers
from landfast.config import Settings, SourceSettings
from landfast.domain.arrival import Arrival
from landfast.domain.dependency import checked_uses
from landfast.domain.errors import ConfigError
from landfast.domain.ids import HandlerName
from landfast.processing.handlers.registry import DeadHook, Handler, Registry, on_dead_of

F = TypeVar("F", bound=Callable[..., Any])


class Declaring:
    settings: Settings
    registry: Registry
    sources: dict[str, SourceSettings]

    @overload
    def on_dead(self, function: F, /) -> F: ...

    @overload
    def on_dead(self, /, *, name: str | None = ..., deadline: float = ...) -> Callable[[F], F]: ...

    def on_dead(self, function: F | None = None, /, *, name: str | None = None, deadline: float = 30.0) -> Any:
        """Call the function `(letter)` with the DeadLetter of each event that dies from its first start on: after the
        fact, at least once, in any order, by one worker at a time, beside the processing of events. One that raises
        is called again for three days; GiveUp ends that. An event that is replayed before its turn is left out."""

        def register(function: F) -> F:
            hook = name or name_of(function)
            must_take(function, f"on_dead {hook}", "(letter)", lambda it: it.bind(None))
            self.registry.add_dead_hook(DeadHook(name=hook, function=function, deadline=deadline))
            return function

        return register if function is None else register(function)

    def lifecycle(
        self,
        name: str,
        *,
        states: Sequence[str],
        transitions: Mapping[str, Follow],
        state_of: Given,
        entity: Given | None = None,
        deadline: float = 3600.0,
        on_deadline: str = "dead",
    ) -> None:
        """Declare the states that an entity can be in, and which may follow which. An event of a handler with
        `on(..., lifecycle=name)` that is not legal from the state of its entity is parked until the entity moves. So a
        refund that arrives before its payment waits for it. The state lies in the ledger, and moves in the handler's
        own transaction.

        - `states`: all of them. Each entity begins as "absent", which is not one of them.
        - `transitions`: from a state, and from "absent", to the one or those that may follow it. A state follows itself
          only where that is said.
        - `state_of`: the state that an event leads to: a mapping of patterns of types, a path in the data, or a
          function of the event. An event that leads to none runs in any state.
        - `entity`: what it is about: a path in the data, a mapping of patterns of types to paths, or a function; the
          event's own unless it is given. An event without one runs like any other.
        - `deadline`: seconds that an event waits to become legal; `on_deadline`: then it is a dead letter ("dead"), or
          it runs all the same ("run").
        """
        if name in self.registry.machines:
            raise ConfigError(f"lifecycle {name}: it is there already; give one of the two another name")
        self.registry.machines[name] = machine(
            name,
            states=states,
            transitions=transitions,
            state_of=state_of,
            entity=entity,
            deadline=deadline,
            on_deadline=on_deadline,
        )

    def arrival(
        self, source: str, of_type: str, /, *, entity: Given | None = None, handler: str | None = None
    ) -> Arrival:
        """Declare that steps may wait for events of this source and type. What this returns goes into `after`:
        `tx.stage(ship, after=[paid.of(customer, deadline=timedelta(hours=24))])`. An event has arrived when its handler
        has committed. Those are remembered that are handled from the first start with this declaration on.

        - `entity`: what such an event is about, by which the step finds it: a path in the data, or a function of the
          event; the event's own unless it is given. An event without one arrives for nobody.
        - `handler`: whose COMMIT counts, where several take such events.
        """
        declared = arrival(source, of_type, entity=entity, handler=handler)
        self.registry.add_arrival(declared)
        return declared

    def check_declared(self) -> None:
        """ConfigError for handlers, lifecycles, dependencies and sources that do not fit together."""
        check_handlers(self.registry, self.sources)
        check_dependencies(self.registry)
        check_rules(self.registry, self.sources)
        check_arrivals(self.registry, self.sources)

    def _handling(
        self, source: str, pattern: str, name: str | None, uses: Sequence[str], options: dict[str, Any]
    ) -> Callable[[F], F]:
        def register(function: F) -> F:
            handler = name or name_of(function)
            check_newest_only(handler, path=options["newest_only"])
            check_entity(handler, path=options.get("entity"), is_used=bool(options["newest_only"]))
            given = options | {"on_dead": on_dead_of(handler, options["on_dead"])}
            asked = asked_of_ledger(function, f"handler {handler}", self.settings.ledger_driver)
            named = checked_uses(uses, f"handler {handler}")
            what: dict[str, Any] = {"source": source, "pattern": pattern, "function": function}
            self.registry.add_handler(Handler(name=HandlerName(handler), **what, **given, asked=asked, uses=named))
            return function

        return register

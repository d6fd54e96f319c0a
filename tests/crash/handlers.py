"""The shop of the crash tests: handlers and effects that write down who they are."""

from __future__ import annotations

from typing import Any

import msgspec

from landfast.domain.backoff import Backoff
from landfast.domain.event import Effect, Event
from landfast.domain.ids import HandlerName
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.processing.fairness.pace import GROUP_SECONDS_AT_MOST
from landfast.processing.handlers.registry import EffectHandler, Handler, Registry
from landfast.testing.clock import ManualClock
from landfast.testing.crash import Crash
from tests.crash.history import History, Line

INSERT = "INSERT INTO orders (key, handler, run) VALUES ($1, $2, $3)"


def handlers_of(type_: str) -> tuple[str, ...]:
    return ("create_order", "tell_crm") if type_ == "order.paired" else ("create_order",)


def registry(crash: Crash, history: History, clock: ManualClock, cycle: int) -> Registry:
    async def create_order(event: Event, tx: Any) -> None:
        await tx.execute(INSERT, event.key, "create_order", event.run)
        # Each attempt stages under a name of its own: one that was rolled back would be seen if it were performed.
        label = f"try {event.attempt}"
        tx.stage("confirm", named=label, order=event.key, label=label)
        match event.type, event.attempt, event.run:
            case "order.shaky", 1, _:
                raise RetryLater("not yet", after=0)
            case "order.doomed", _, 1:
                raise GiveUp("no such customer")
            case "order.slow", _, _:
                clock.advance(GROUP_SECONDS_AT_MOST * 1.5)

    def tell_crm(event: Event, tx: Any) -> dict[str, int]:
        tx.execute(INSERT, event.key, "tell_crm", event.run)
        return {"run": event.run}

    async def confirm(effect: Effect, order: str, label: str) -> None:
        line = Line("perform", "invoke", order, cycle, id=history.new_id(), run=effect.run, effect=effect.key)
        history.write(line)
        if order.endswith("paired") and effect.attempt == 1:
            history.write(msgspec.structs.replace(line, phase="fail"))
            raise RetryLater("the mail server is busy", after=0)
        history.write(msgspec.structs.replace(line, phase="ok"))

    found = Registry()
    for function, pattern in ((create_order, "order.*"), (tell_crm, "order.paired")):
        found.add_handler(
            Handler(
                name=HandlerName(function.__name__),
                source="stripe",
                pattern=pattern,
                function=crash.around("handle", function),
                attempts=5,
                backoff=Backoff(),
                deadline=20.0,
                isolation=None,
                group=True,
            )
        )
    found.add_effect(
        EffectHandler(
            name="confirm", function=crash.around("perform", confirm), attempts=5, backoff=Backoff(), deadline=20.0
        )
    )
    return found

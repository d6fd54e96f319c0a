"""The shop of the crash tests: handlers and effects that write down who they are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from landfast.app.lifecycles import machine
from landfast.domain.arrival import Arrival
from landfast.domain.backoff import Backoff
from landfast.domain.event import Effect, Event
from landfast.domain.ids import HandlerName
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.processing.fairness.pace import GROUP_SECONDS_AT_MOST
from landfast.processing.handlers.registry import EffectHandler, Handler, OnDead, Registry
from landfast.testing.clock import ManualClock
from landfast.testing.crash import Crash
from tests.crash.history import History, Line
from tests.crash.plans import Plan
from tests.patience import PATIENCE_SECONDS

WALK = "INSERT INTO walked (cycle, number, late) VALUES ($1, $2, $3)"
INSERT = "INSERT INTO orders (key, handler, run) VALUES ($1, $2, $3)"


VAIN, LONG = timedelta(seconds=0.2), timedelta(days=1)
"""Deadlines of what is waited for: one that passes in the life of a process, and one that does not."""


def cycle_of(event: Event) -> int:
    return event.data["data"]["object"]["cycle"]  # type: ignore[no-any-return]


STEADIED = Arrival(source="stripe", type="order.shaky", entity=cycle_of, handler=HandlerName("create_order"))
NEVER = Arrival(source="stripe", type="order.never", entity=cycle_of)


def handlers_of(type_: str) -> tuple[str, ...]:
    return ("create_order", "tell_crm") if type_ == "order.paired" else ("create_order",)


async def order(event: Event, tx: Any) -> None:
    if event.type == "order.plain":  # six of them share a transaction, and a batch
        tx.write(INSERT, event.key, "create_order", event.run)
    else:
        await tx.execute(INSERT, event.key, "create_order", event.run)


def wait_for_others(event: Event, tx: Any, plan: Plan) -> None:
    waits = {"in vain": NEVER.of(plan.cycle, deadline=VAIN, on_deadline="run")}
    if "shaky" in plan.kinds:
        waits["steadied"] = STEADIED.of(plan.cycle, deadline=LONG, back=LONG)
    for label, arrival in waits.items():
        tx.stage("confirm", named=label, after=[arrival], order=event.key, label=label)


def must_be_told_well(effect: Effect, label: str) -> None:
    if effect.timed_out != (label == "in vain"):
        raise GiveUp(f"{label}: it is told wrongly whether what it waits for has come")


def registry(crash: Crash, history: History, clock: ManualClock, plan: Plan) -> Registry:
    cycle, is_ordered = plan.cycle, plan.is_ordered

    async def create_order(event: Event, tx: Any) -> None:
        await order(event, tx)
        if is_ordered:
            await tx.execute(WALK, cycle, event.data["data"]["object"]["number"], int(event.late))
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
        wait_for_others(event, tx, plan)
        return {"run": event.run}

    async def confirm(effect: Effect, order: str, label: str) -> None:
        must_be_told_well(effect, label)
        line = Line("perform", "invoke", order, cycle, id=history.new_id(), run=effect.run, effect=effect.key)
        history.write(line)
        if order.endswith("paired") and effect.attempt == 1:
            history.write(msgspec.structs.replace(line, phase="fail"))
            raise RetryLater("the mail server is busy", after=0)
        history.write(msgspec.structs.replace(line, phase="ok"))

    found = Registry()
    found.add_arrival(STEADIED)
    found.add_arrival(NEVER)
    found.machines["crm"] = machine(
        "crm",
        states=["told"],
        transitions={"absent": "told", "told": "told"},
        state_of={"order.*": "told"},
        entity="id",  # each cycle has its own, so that each moves them
        deadline=3_600.0,
        on_deadline="dead",
    )
    for function, pattern in ((create_order, "order.*"), (tell_crm, "order.paired")):
        found.add_handler(
            Handler(
                name=HandlerName(function.__name__),
                source="stripe",
                pattern=pattern,
                function=crash.around("handle", function),
                attempts=5,
                backoff=Backoff(),
                deadline=PATIENCE_SECONDS,
                isolation=None,
                group=True,
                # Nothing is ever older or illegal here: it is for the rows that say so, and the crashes around them.
                newest_only="data.object.number" if function is tell_crm else False,
                lifecycle="crm" if function is tell_crm else None,
                ordered=is_ordered and function is create_order,
                on_dead=OnDead.SKIP if is_ordered and function is create_order else OnDead.BLOCK,
            )
        )
    found.add_effect(
        EffectHandler(
            name="confirm",
            function=crash.around("perform", confirm),
            attempts=5,
            backoff=Backoff(),
            deadline=PATIENCE_SECONDS,
        )
    )
    return found

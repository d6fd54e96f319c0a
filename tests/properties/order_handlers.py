"""Handlers with every rule of order that there is, on every event; and what their shop has seen of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, NamedTuple

import msgspec

from landfast.app.lifecycles import machine
from landfast.domain.arrival import Arrival
from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectSignal
from landfast.domain.event import Effect, Event
from landfast.domain.ids import HandlerName, event_id
from landfast.domain.verdict import GiveUp
from landfast.processing.effects.settlements import TIMED_OUT
from landfast.processing.handlers.registry import OnDead
from tests.properties.order_ledgers import OrderShop

CHAIN = ("created", "active", "late", "ended")
"""The types of an entity's events, which are the states that they lead to: the only order in which they are legal."""

PLANS, PAYS = 1, 2
"""By number: the event that stages a graph of effects, and the one that some of those wait for."""

SOURCES = {"stripe": OnDead.BLOCK, "github": OnDead.SKIP}
WHATS = ("walk", "set_last", "live_on", "plan")
LONG = timedelta(days=300)
ARRIVES_WITHIN = timedelta(seconds=50_000)
INSERT = "INSERT INTO happened (what, key_, number, run, late, step) VALUES ($1, $2, $3, $4, $5, $6)"


class Node(NamedTuple):
    after: tuple[int, ...]
    writes: bool
    """It has a transaction of its own."""
    awaits: str | None
    """It waits for the payment, too; and what happens if that does not come."""


def source_of(entity: str) -> str:
    return "stripe" if entity.startswith("s") else "github"


@dataclass
class Told:
    """What handlers and effects are to do, and what is known of them."""

    outcomes: dict[tuple[str, str], str] = field(default_factory=dict)
    """By what runs, and the key of its event."""
    graphs: dict[str, tuple[Node, ...]] = field(default_factory=dict)
    """By entity."""
    step: int = 0
    """In which the hand that runs now has claimed what it runs."""
    done: dict[tuple[str, int], bytes | None] = field(default_factory=dict)
    """Effects, by key and run, that were settled as done; and what they returned."""
    staged: set[str] = field(default_factory=set)
    """Entities that have effects, unless that was rolled back."""
    buried: set[str] = field(default_factory=set)
    """Those of them that may have a dead one."""
    wrong: list[str] = field(default_factory=list)
    numbers: Any = field(default_factory=count)

    def end_as_told(self, what: str, key: str) -> None:
        match self.outcomes.get((what, key), "ok"):
            case "give_up":
                raise GiveUp("as it was told")
            case "fail":
                raise RuntimeError("as it was told")

    def claimed(self, effects: Sequence[ClaimedEffect]) -> None:
        for each in effects:
            staged = each.staged
            entity = msgspec.json.decode(staged.context)["key"].partition(":")[0]
            if (staged.key, staged.run) in self.done:
                self.wrong.append(f"{staged} was done, and is claimed again")
            for key in staged.step.after:
                result = each.results.get(key)
                if key in staged.step.waited:
                    self._look_at_arrival(each, key, entity)
                elif (key, staged.run) not in self.done:
                    self.wrong.append(f"{staged} is claimed before {key} is done")
                elif _decoded(result) != _decoded(self.done[key, staged.run]):
                    self.wrong.append(f"{staged} is given {result!r} for what {key} returned")

    def _look_at_arrival(self, each: ClaimedEffect, key: str, entity: str) -> None:
        node = self.graphs[entity][msgspec.json.decode(each.staged.arguments)["number"]]
        paid = event_id(source_of(entity), f"{entity}:{PAYS}")
        result = each.results.get(key)
        if result is None or (result != TIMED_OUT and _decoded(result) != {"event": paid.hex()}):
            self.wrong.append(f"{each.staged} is claimed, and of what it waits for there is {result!r}")
        if result == TIMED_OUT and node.awaits != "run" and (key, each.staged.run) not in self.done:
            self.wrong.append(f"{each.staged} is claimed, and its payment did not come")

    def settled(self, settlements: Sequence[EffectSettlement], took: Sequence[bool]) -> None:
        for each, took_effect in zip(settlements, took, strict=True):
            if took_effect and each.signal is EffectSignal.BURY:
                self.buried |= self.staged
            if took_effect and each.signal is EffectSignal.FINISH:
                if (each.key, each.run) in self.done:
                    self.wrong.append(f"{each} was done before")
                self.done[each.key, each.run] = each.result

    def skipped(self, key: str, run: int, result: bytes) -> None:
        self.done[key, run] = result


class Watching:
    """A ledger of which is noted what was claimed, and what became of it."""

    def __init__(self, ledger: Any, told: Told) -> None:
        self._ledger, self._told = ledger, told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def claim(self, **options: Any) -> Sequence[ClaimedEffect]:
        found: Sequence[ClaimedEffect] = await self._ledger.claim(**options)
        self._told.claimed(found)
        return found

    async def claim_suspect(self, **options: Any) -> ClaimedEffect | None:
        found: ClaimedEffect | None = await self._ledger.claim_suspect(**options)
        self._told.claimed([] if found is None else [found])
        return found

    async def settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        took: Sequence[bool] = await self._ledger.settle(settlements)
        self._told.settled(settlements, took)
        return took


def declare(shop: OrderShop, told: Told) -> None:
    shop.registry.machines["life"] = machine(
        "life",
        states=CHAIN,
        transitions=dict(zip(("absent", *CHAIN), CHAIN, strict=False)),
        state_of=lambda event: event.type,
        entity=None,
        deadline=LONG.total_seconds(),
        on_deadline="dead",
    )
    _declare_effects(shop, told)
    for source, on_dead in SOURCES.items():
        paid = Arrival(
            source=source, type=CHAIN[PAYS], entity=lambda event: event.entity, handler=HandlerName(f"live_on_{source}")
        )
        shop.registry.add_arrival(paid)
        rules: dict[str, dict[str, Any]] = {
            "walk": {"ordered": True, "on_dead": on_dead},
            "set_last": {"newest_only": True},
            "live_on": {"lifecycle": "life"},
            "plan": {},
        }
        for what, rule in rules.items():
            pattern = CHAIN[PLANS] if what == "plan" else "*"
            function = _handler(what, told, paid, is_async=not shop.is_blocking)
            shop.on(pattern, source=source, name=f"{what}_{source}", attempts=None, **rule)(function)


def _handler(what: str, told: Told, paid: Arrival, *, is_async: bool) -> Any:
    def row(event: Event) -> tuple[Any, ...]:
        number = int(event.key.partition(":")[2])
        return what, event.key, number, event.run, int(event.late), told.step

    def go_on(event: Event, tx: Any) -> None:
        if what == "plan":
            _stage(told.graphs[str(event.entity)], event, tx, paid)
            told.staged.add(str(event.entity))
        told.end_as_told(what, event.key)

    async def handle(event: Event, tx: Any) -> None:
        await tx.execute(INSERT, *row(event))
        go_on(event, tx)

    def handle_blocking(event: Event, tx: Any) -> None:
        tx.execute(INSERT, *row(event))
        go_on(event, tx)

    return handle if is_async else handle_blocking


def _stage(graph: Sequence[Node], event: Event, tx: Any, paid: Arrival) -> None:
    staged: list[Any] = []
    for number, node in enumerate(graph):
        before = [staged[each] for each in node.after]
        waits = []
        if node.awaits is not None:
            waits = [paid.of(event.entity, deadline=ARRIVES_WITHIN, on_deadline=node.awaits, back=LONG)]
        arguments = {"number": number, "given": [each.result for each in before]}
        effect = "write" if node.writes else "call"
        staged.append(tx.stage(effect, named=f"node_{number}", after=[*before, *waits], **arguments))


def _declare_effects(shop: OrderShop, told: Told) -> None:
    def row(effect: Effect, number: int) -> tuple[Any, ...]:
        return f"node_{number}", effect.event["key"], number, effect.run, 0, told.step

    def returned(effect: Effect, number: int) -> Any:
        told.end_as_told(f"node_{number}", effect.event["key"])
        return {"node": number, "of": next(told.numbers)}

    async def call(effect: Effect, number: int, given: list[Any]) -> Any:
        return returned(effect, number)

    async def write(effect: Effect, tx: Any, number: int, given: list[Any]) -> Any:
        await tx.execute(INSERT, *row(effect, number))
        return returned(effect, number)

    def write_blocking(effect: Effect, tx: Any, number: int, given: list[Any]) -> Any:
        tx.execute(INSERT, *row(effect, number))
        return returned(effect, number)

    write_blocking.__name__ = "write"
    shop.effect(call)
    shop.effect(write_blocking if shop.is_blocking else write)


def _decoded(result: bytes | None) -> Any:
    return None if result is None else msgspec.json.decode(result)

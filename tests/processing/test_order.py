"""Order per entity: what an ordered handler sees, whatever the order in which things arrive, fail and come back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from landfast.domain.delivery import Delivery, Identity
from landfast.domain.event import Event
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import State
from landfast.domain.switch import SwitchKind
from landfast.domain.verdict import GiveUp
from landfast.processing.fairness.pace import Pace
from landfast.processing.handlers.registry import OnDead
from landfast.recovery.proof import prove
from landfast.testing.clock import SeededChance
from landfast.testing.factory import DAWN
from tests.processing.shop import Shop

pytestmark = pytest.mark.req("R29")


async def arrive(
    shop: Shop, *numbers: int, entity: str | None = "a", type_: str = "changed", body: bytes | None = None
) -> None:
    """Events of an entity that occurred at these seconds, in one batch, in this order."""
    await shop.inbox.record(
        [
            Delivery.of(
                "stripe",
                Identity(f"{entity}{number}", type_, entity=entity, occurred_at=DAWN + timedelta(seconds=number)),
                received_at=max(shop.clock.now(), DAWN + timedelta(days=1)),
                headers=b'[["content-type","application/json"]]',
                body=msgspec.json.encode({"id": number}) if body is None else body,
            )
            for number in numbers
        ]
    )


async def write(event: Event, tx: Any, *, by: str = "") -> None:
    late = " late" if event.late else ""
    await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 0)", f"{by}{event.key}{late}")


async def written(shop: Shop) -> list[str]:
    return [row[0] for row in await shop.sql("SELECT key FROM orders ORDER BY id")]


def sync(shop: Shop, fails: set[str] | None = None, pattern: str = "*", **options: Any) -> set[str]:
    """An ordered handler, and the keys at which it fails for now."""
    failing = set() if fails is None else fails

    @shop.on(pattern, name="sync", **({"ordered": True, "attempts": None} | options))
    async def sync(event: Event, tx: Any) -> None:
        await write(event, tx)
        if event.key in failing:
            raise RuntimeError("not now")

    return failing


async def states(shop: Shop, keys: Sequence[str]) -> list[str]:
    return [str(await shop.state(key)) for key in keys]


async def test_events_of_an_entity_run_as_they_occurred_however_they_arrive(shop: Shop) -> None:
    sync(shop)
    await shop.inbox.order(["stripe"])
    numbers = list(range(30))
    random.Random(7).shuffle(numbers)
    for at in range(0, 30, 5):
        await arrive(shop, *numbers[at : at + 5])
        await arrive(shop, *numbers[at : at + 5], entity="b")
    await shop.settle_down()
    rows = await written(shop)
    assert [row for row in rows if row[0] == "a"] == [f"a{number}" for number in range(30)]
    assert [row for row in rows if row[0] == "b"] == [f"b{number}" for number in range(30)]


async def test_a_failure_makes_its_own_entity_wait_and_no_other(shop: Shop) -> None:
    failing = sync(shop, {"a1"})
    await arrive(shop, 3, 2, 1)
    await arrive(shop, 1, 2, entity="b")
    await shop.drain()
    assert await written(shop) == ["b1", "b2"]
    assert await states(shop, ["a1", "a2", "a3"]) == ["delayed", "queued", "queued"]
    failing.clear()
    await shop.settle_down()
    assert await written(shop) == ["b1", "b2", "a1", "a2", "a3"]
    assert (await shop.show("a2")).summary.run == 1


async def test_a_dead_letter_blocks_its_entity_until_it_is_replayed(shop: Shop) -> None:
    failing = sync(shop, {"a1"}, attempts=1)
    await arrive(shop, 1, 2)
    await shop.settle_down()
    assert await states(shop, ["a1", "a2"]) == ["dead", "queued"]
    await arrive(shop, 3)
    await shop.settle_down()
    assert await written(shop) == []
    failing.clear()
    await shop.inbox.replay([event_id("stripe", "a1")], forced=False, who="ada")
    await shop.settle_down()
    assert await written(shop) == ["a1", "a2", "a3"]


async def test_an_operator_has_a_blocked_entity_go_on(shop: Shop) -> None:
    failing = sync(shop, {"a1"}, attempts=1)
    await arrive(shop, 1, 2)
    await shop.settle_down()
    assert await shop.inbox.skip([event_id("stripe", "a1")], who="ada") == 1
    await shop.settle_down()
    assert await states(shop, ["a1", "a2"]) == ["dead", "done"]
    failing.clear()
    await shop.inbox.replay([event_id("stripe", "a1")], forced=False, who="ada")
    await shop.settle_down()
    assert await written(shop) == ["a2", "a1 late"]


async def test_a_dead_letter_is_skipped_where_the_handler_says_so(shop: Shop) -> None:
    sync(shop, {"a1"}, attempts=1, on_dead=OnDead.SKIP)
    await arrive(shop, 1, 2)
    await shop.settle_down()
    assert await states(shop, ["a1", "a2"]) == ["dead", "done"]
    assert await written(shop) == ["a2"]


async def test_an_older_event_that_arrives_too_late_is_flagged(shop: Shop) -> None:
    sync(shop)
    await arrive(shop, 2)
    await shop.drain()
    await arrive(shop, 1, 3)
    await shop.settle_down()
    assert await written(shop) == ["a2", "a1 late", "a3"]
    attempts = [(await shop.show(key)).history[-1].attempts[-1] for key in ("a1", "a3")]
    assert [attempt.is_late for attempt in attempts] == [True, False]


async def test_handlers_without_order_wait_for_nobody(shop: Shop) -> None:
    failing = sync(shop, {"a1"})

    @shop.on(name="mail")
    async def mail(event: Event, tx: Any) -> None:
        await write(event, tx, by="mail ")

    await arrive(shop, 1, 2)
    await shop.drain()
    assert await written(shop) == ["mail a1", "mail a2"]
    failing.clear()
    await shop.settle_down()
    assert await written(shop) == ["mail a1", "mail a2", "a1", "a2"]


@pytest.mark.parametrize("attempts", [1, None])
async def test_an_entity_does_not_wait_for_handlers_without_order(shop: Shop, attempts: int | None) -> None:
    sync(shop)

    @shop.on(name="mail", attempts=attempts)
    async def mail(event: Event, tx: Any) -> None:
        raise RuntimeError("not today")

    await arrive(shop, 1)
    await shop.drain()
    await arrive(shop, 2)
    await shop.drain()
    assert await written(shop) == ["a1", "a2"]


async def test_two_ordered_handlers_of_an_entity_wait_for_each_other(shop: Shop) -> None:
    failing = sync(shop, {"a1"}, pattern="created")

    @shop.on("changed", name="change", ordered=True)
    async def change(event: Event, tx: Any) -> None:
        await write(event, tx, by="change ")

    await arrive(shop, 1, type_="created")
    await arrive(shop, 2)
    await shop.drain()
    assert await written(shop) == []
    failing.clear()
    await shop.settle_down()
    assert await written(shop) == ["a1", "change a2"]


async def test_an_event_that_one_of_two_ordered_handlers_has_not_passed_holds_both(shop: Shop) -> None:
    failing = sync(shop, {"a1"})

    @shop.on(name="change", ordered=True)
    async def change(event: Event, tx: Any) -> None:
        await write(event, tx, by="change ")

    await arrive(shop, 1, 2)
    await shop.drain()
    assert await written(shop) == ["change a1"]
    failing.clear()
    await shop.settle_down()
    assert set(await written(shop)) == {"change a1", "a1", "change a2", "a2"}
    assert (await written(shop))[:2] == ["change a1", "a1"]


@pytest.mark.parametrize("on_dead", OnDead)
async def test_a_malformed_event_blocks_or_is_skipped_like_a_dead_one(shop: Shop, on_dead: OnDead) -> None:
    sync(shop, on_dead=on_dead)
    await arrive(shop, 1, body=b"{")
    await arrive(shop, 2)
    await shop.settle_down()
    assert await written(shop) == (["a2"] if on_dead is OnDead.SKIP else [])
    assert await states(shop, ["a1", "a2"]) == ["dead", "done" if on_dead is OnDead.SKIP else "queued"]


async def test_of_a_paused_handler_one_event_of_each_entity_waits_for_the_switch(shop: Shop) -> None:
    sync(shop)
    await shop.inbox.throw(SwitchKind.HANDLER, "sync", why="a look", who="ada")
    await arrive(shop, 2, 1, 3)
    await shop.drain()
    assert await states(shop, ["a1", "a2", "a3"]) == ["paused", "queued", "queued"]
    await shop.inbox.lift(SwitchKind.HANDLER, "sync")
    await shop.inbox.resume(limit=9)
    await shop.settle_down()
    assert await written(shop) == ["a1", "a2", "a3"]


async def test_a_replay_of_what_was_passed_is_late_and_its_failure_blocks_nobody(shop: Shop) -> None:
    failing = sync(shop, attempts=1)
    await arrive(shop, 1, 2)
    await shop.settle_down()
    failing.add("a1")
    await shop.inbox.replay([event_id("stripe", "a1")], forced=True, who="ada")
    await shop.settle_down()
    await arrive(shop, 3)
    await shop.settle_down()
    assert await states(shop, ["a1", "a2", "a3"]) == ["dead", "done", "done"]
    failing.clear()
    await shop.inbox.replay([event_id("stripe", "a1")], forced=True, who="ada")
    await shop.settle_down()
    assert await written(shop) == ["a1", "a2", "a3", "a1 late"]


async def test_what_a_group_had_no_time_for_is_not_late_when_it_runs(shop: Shop) -> None:
    @shop.on(name="sync", ordered=True)
    async def sync(event: Event, tx: Any) -> None:
        await write(event, tx)
        shop.clock.advance(0.2)

    await shop.inbox.order(["stripe"])
    await arrive(shop, 4)
    await arrive(shop, *range(5, 20))
    await arrive(shop, 1, 2, 3)
    await shop.settle_down()
    assert await written(shop) == [f"a{number}" for number in range(1, 20)]


async def test_what_nobody_takes_blocks_nobody_although_its_source_became_ordered_meanwhile(shop: Shop) -> None:
    """A worker of the last deploy has it in hand when the first one with an ordered handler starts."""
    shop.on("other", name="other")(write)
    await arrive(shop, 1)
    settle = shop.inbox.settle

    async def settle_after_the_deploy(settlements: Any) -> Any:
        shop.inbox.settle = settle
        await shop.inbox.order(["stripe"])
        return await settle(settlements)

    shop.inbox.settle = settle_after_the_deploy
    await shop.drain()
    sync(shop, pattern="paid")
    await arrive(shop, 2, type_="paid")
    await shop.settle_down()
    assert await states(shop, ["a1", "a2"]) == ["unhandled", "done"]


async def test_without_an_entity_there_is_no_order_and_nothing_waits(shop: Shop) -> None:
    sync(shop, {"None1"})
    await arrive(shop, 1, 2, entity=None)
    await shop.drain()
    assert await written(shop) == ["None2"]


async def test_what_nobody_takes_blocks_nobody(shop: Shop) -> None:
    sync(shop, pattern="changed")
    await arrive(shop, 1, type_="strange")
    await arrive(shop, 2)
    await shop.settle_down()
    assert await states(shop, ["a1", "a2"]) == ["unhandled", "done"]


async def test_a_poison_event_that_is_dead_of_its_crashes_blocks(shop: Shop) -> None:
    sync(shop)
    await shop.inbox.order(["stripe"])
    await arrive(shop, 1, 2)
    for number in range(5):  # claimed by workers that die, alone from the second time on
        token = number.to_bytes(16, "big")
        if not await shop.inbox.claim(token=token, lease=30.0, limit=1):
            await shop.inbox.claim_suspect(token=token, lease=30.0)
        await shop.advance(31)
    await shop.drain()
    assert await states(shop, ["a1", "a2"]) == ["dead", "queued"]
    assert (await shop.show("a1")).summary.reason == "crash_loop"


async def test_a_worker_that_died_after_its_commit_costs_no_order(shop: Shop) -> None:
    sync(shop)
    await shop.inbox.order(["stripe"])
    await arrive(shop, 1, 2, 3)
    died = await shop.inbox.claim(token=b"t" * 16, lease=30.0, limit=2)
    worker = shop.worker()
    await worker._execution.execute(died, Pace())
    await arrive(shop, 0)
    await shop.drain()
    assert await states(shop, ["a0", "a1", "a2", "a3"]) == ["done", "claimed", "claimed", "queued"]
    await shop.advance(31)
    await shop.settle_down()
    assert await written(shop) == ["a1", "a2", "a0 late", "a3"]
    assert await shop.is_done(4)


async def test_proof_counts_what_is_queued(shop: Shop) -> None:
    sync(shop, {"a1"})
    await arrive(shop, 1, 2, 3)
    await shop.drain()
    assert (await shop.states())[State.QUEUED] == 2
    proof = await prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance(3))
    assert (proof.lost, proof.doubled, proof.unproven) == (0, 0, ())


async def test_giving_up_on_purpose_counts_as_dead(shop: Shop) -> None:
    @shop.on(name="sync", ordered=True)
    async def sync(event: Event, tx: Any) -> None:
        if event.key == "a1":
            raise GiveUp("never")
        await write(event, tx)

    await arrive(shop, 1, 2)
    await shop.settle_down()
    assert await states(shop, ["a1", "a2"]) == ["dead", "queued"]

"""Lifecycles: an event that is not legal yet waits for the one that makes it so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from landfast.app.lifecycles import machine
from landfast.domain.errors import InboxUnavailableError, LedgerUnavailableError
from landfast.domain.event import Event
from landfast.domain.lane import lane_of
from landfast.domain.lane_memory import StateKey
from landfast.domain.lifecycle import Signal, State
from landfast.domain.machine import parked_for
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.processing.lane_rules import SECOND_LOOK_SECONDS
from landfast.processing.parking import UNSEEN_AT_MOST, Parking
from landfast.testing.clock import ManualClock
from landfast.testing.factory import settlement
from tests.processing.entities import ran, send, state_in_ledger, write
from tests.processing.shop import Shop

pytestmark = pytest.mark.req("R28")

HOUR = 3600.0


def declare(shop: Shop, **options: Any) -> None:
    given: dict[str, Any] = {
        "states": ["paid", "refunded"],
        "transitions": {"absent": "paid", "paid": "refunded"},
        "state_of": {"payment.succeeded": "paid", "refund.created": "refunded"},
        "entity": {"payment.*": "object.id", "refund.*": "object.payment"},
        "deadline": HOUR,
        "on_deadline": "dead",
    }
    shop.registry.machines["order"] = machine("order", **(given | options))


class SleepsOnce(ManualClock):
    async def sleep(self, seconds: float) -> None:
        if self.monotonic():
            raise StopAsyncIteration
        self.advance(seconds)


async def pay(shop: Shop, key: str = "pay", payment: str = "pi_1", second: float = 1.0) -> None:
    await send(shop, key, "payment.succeeded", payment, second=second, object={"id": payment})


async def refund(shop: Shop, key: str = "refund", payment: str = "pi_1", second: float = 2.0) -> None:
    await send(shop, key, "refund.created", "re_1", second=second, object={"id": "re_1", "payment": payment})


async def test_a_refund_that_comes_before_its_payment_waits_for_it(shop: Shop) -> None:
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await refund(shop)
    await shop.drain()
    parked = (await shop.show("refund")).summary
    assert (parked.state, parked.handler, await ran(shop)) == (State.PARKED, "write", [])
    assert parked.message == (
        "refund.created is not legal from 'absent' in lifecycle order; waits for payment.succeeded"
    )
    assert await state_in_ledger(shop, "order", "pi_1") is None
    await pay(shop)
    await shop.drain()
    assert await ran(shop) == ["pay", "refund"]
    assert await state_in_ledger(shop, "order", "pi_1") == "refunded"
    assert [line.signal for line in (await shop.show("refund")).history] == [Signal.PARK, Signal.STIR, Signal.FINISH]


async def test_handlers_of_several_types_share_a_lifecycle(shop: Shop) -> None:
    declare(shop)
    shop.on("refund.*", lifecycle="order", name="refund")(write)
    shop.on("payment.*", lifecycle="order", name="pay")(write)
    await refund(shop)
    await shop.drain()
    await pay(shop)
    await shop.drain()
    assert await ran(shop) == ["pay", "refund"]


async def test_in_one_group_the_order_of_events_is_that_of_their_times(shop: Shop) -> None:
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    for number in range(8):
        await refund(shop, f"refund_{number}", f"pi_{number}")
        await pay(shop, f"pay_{number}", f"pi_{number}")
    await shop.drain()
    assert await shop.states() == {State.DONE: 16}
    assert [await state_in_ledger(shop, "order", f"pi_{number}") for number in range(8)] == ["refunded"] * 8


async def test_in_one_group_what_is_parked_runs_once_its_entity_has_moved(shop: Shop) -> None:
    """Their times say the opposite of what their lifecycle says."""
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    others = [f"other_{number}" for number in range(3)]
    for other in others:  # a worker's groups grow as it goes: one and two events, and then both
        await pay(shop, other, other)
    await refund(shop, second=1)
    await pay(shop, second=2)
    await shop.drain()
    assert (await ran(shop))[len(others) :] == ["pay", "refund"]
    assert [line.signal for line in (await shop.show("refund")).history] == [Signal.FINISH], "it was never parked"


async def test_a_failed_attempt_does_not_begin_its_deadline_anew(shop: Shop) -> None:
    """It was parked, became legal, failed, and is illegal again: the time that it has waited counts."""
    declare(
        shop,
        states=["paid", "closed", "refunded"],
        transitions={"absent": "paid", "paid": ["closed", "refunded"], "closed": "paid"},
        state_of={"payment.*": "paid", "account.*": "closed", "refund.*": "refunded"},
        entity={"payment.*": "object.id", "*": "object.payment"},
    )
    fails = [True]

    async def flaky(event: Event, tx: Any) -> None:
        if event.key == "refund" and fails:
            raise ConnectionError("away")
        await write(event, tx)

    shop.on("*", lifecycle="order")(flaky)
    await refund(shop)
    await shop.drain()
    await shop.advance(HOUR / 2)
    await pay(shop)
    await shop.drain()
    assert await shop.state("refund") is State.DELAYED
    await send(shop, "close", "account.closed", "ac_1", second=3, object={"payment": "pi_1"})
    await shop.drain()
    await shop.advance(60)
    await shop.drain()
    assert await shop.state("refund") is State.PARKED
    await shop.advance(HOUR / 2)
    await shop.drain()
    (letter,) = await shop.dead()
    assert letter.reason == "illegal_transition"


async def test_in_one_group_what_two_moves_make_legal_runs_once(shop: Shop) -> None:
    declare(
        shop,
        states=["paid", "shipped", "refunded"],
        transitions={"absent": "paid", "paid": ["shipped", "refunded"], "shipped": "refunded", "refunded": "refunded"},
        state_of={"payment.*": "paid", "parcel.*": "shipped", "refund.*": "refunded"},
        entity={"payment.*": "object.id", "*": "object.payment"},
    )
    shop.on("*", lifecycle="order")(write)
    others = [f"other_{number}" for number in range(7)]
    for other in others:  # a worker's groups grow as it goes: one, two and four events, and then all three
        await pay(shop, other, other)
    await refund(shop, second=1)
    await pay(shop, second=2)
    await send(shop, "parcel", "parcel.sent", "pa_1", second=3, object={"payment": "pi_1"})
    await shop.drain()
    assert (await ran(shop))[len(others) :] == ["pay", "parcel", "refund"]
    assert [line.signal for line in (await shop.show("refund")).history] == [Signal.FINISH]


async def test_after_its_deadline_it_is_a_dead_letter_that_says_what_it_waited_for(shop: Shop) -> None:
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await refund(shop)
    await shop.drain()
    await shop.advance(HOUR - 1)
    await shop.drain()
    assert await shop.state("refund") is State.PARKED
    await shop.advance(2)
    await shop.drain()
    (letter,) = await shop.dead()
    assert (letter.reason, letter.message) == (
        "illegal_transition",
        "refund.created is not legal from 'absent' in lifecycle order; waited 1 h for payment.succeeded",
    )
    await pay(shop)
    await shop.inbox.replay([letter.event_id], forced=False, who="ada")
    await shop.drain()
    assert await ran(shop) == ["pay", "refund"]


async def test_the_deadline_counts_from_when_it_was_parked_first(shop: Shop) -> None:
    declare(
        shop,
        states=["paid", "shipped", "refunded"],
        transitions={"absent": "paid", "paid": "shipped", "shipped": "refunded"},
        state_of={"payment.*": "paid", "parcel.*": "shipped", "refund.*": "refunded"},
    )
    shop.on("*", lifecycle="order")(write)
    await refund(shop)
    await shop.drain()
    await shop.advance(HOUR / 2)
    await pay(shop)
    await shop.drain()
    assert await shop.state("refund") is State.PARKED
    await shop.advance(HOUR / 2 + 1)
    await shop.drain()
    assert await shop.state("refund") is State.DEAD


async def test_on_deadline_run_runs_it_all_the_same(shop: Shop) -> None:
    declare(shop, on_deadline="run")
    shop.on("*", lifecycle="order")(write)
    await refund(shop)
    await shop.drain()
    await shop.advance(SECOND_LOOK_SECONDS + 1)
    await shop.drain()
    assert await shop.state("refund") is State.PARKED
    await shop.advance(HOUR)
    await shop.drain()
    assert await ran(shop) == ["refund"]
    assert await state_in_ledger(shop, "order", "pi_1") == "refunded"


async def test_a_state_follows_itself_only_where_that_is_said(shop: Shop) -> None:
    declare(shop, transitions={"absent": "paid", "paid": ["refunded"], "refunded": ["refunded"]})
    shop.on("*", lifecycle="order")(write)
    await pay(shop)
    for key in ("refund_1", "refund_2"):
        await refund(shop, key)
    await pay(shop, "again")
    await shop.drain()
    assert sorted(await ran(shop)) == ["pay", "refund_1", "refund_2"]
    assert await shop.state("again") is State.PARKED


async def test_a_payment_that_fails_moves_nothing(shop: Shop) -> None:
    declare(shop)

    @shop.on("*", lifecycle="order")
    async def handle(event: Event, tx: Any) -> None:
        if event.key == "pay":
            raise GiveUp("no")
        await write(event, tx)

    await refund(shop)
    await pay(shop)
    await shop.drain()
    assert await state_in_ledger(shop, "order", "pi_1") is None
    assert await shop.states() == {State.PARKED: 1, State.DEAD: 1}


async def test_an_event_outside_of_its_lifecycle_runs_like_any_other(shop: Shop) -> None:
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await send(shop, "no entity", "payment.succeeded", "x", object={})
    await send(shop, "no state", "customer.created", "x", object={"id": "pi_1"})
    await shop.drain()
    assert sorted(await ran(shop)) == ["no entity", "no state"]


async def test_a_state_that_nobody_declared_is_a_dead_letter_that_names_it(shop: Shop) -> None:
    declare(shop, state_of="object.status")
    shop.on("*", lifecycle="order")(write)
    await send(shop, "odd", "payment.updated", "x", object={"id": "pi_1", "status": "trialing"})
    await shop.drain()
    (letter,) = await shop.dead()
    assert letter.reason == "unknown_state"
    assert "payment.updated leads to 'trialing', which lifecycle order does not have" in letter.message


async def test_a_function_that_fails_is_a_failed_attempt(shop: Shop) -> None:
    declare(shop, state_of=lambda event: event.data["missing"])
    shop.on("*", lifecycle="order", attempts=1)(write)
    await pay(shop)
    await shop.drain()
    (letter,) = await shop.dead()
    assert letter.error == "KeyError"


async def test_a_forced_replay_runs_from_any_state_and_takes_no_entity_back(shop: Shop) -> None:
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await pay(shop)
    await refund(shop)
    await shop.drain()
    await shop.inbox.replay([(await shop.show("pay")).summary.event_id], forced=True, who="ada")
    await shop.drain()
    assert await ran(shop) == ["pay", "refund", "pay"]
    assert await state_in_ledger(shop, "order", "pi_1") == "refunded"


async def test_an_event_that_was_parked_while_its_entity_moved_is_found(shop: Shop) -> None:
    """Its worker saw the old state, and parks it after the other has looked for what is parked."""
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await refund(shop)
    worker = shop.worker()
    settle = shop.inbox.settle

    async def slow(settlements: Any) -> Any:
        if any(one.signal is Signal.PARK for one in settlements):
            shop.inbox.settle = settle
            await pay(shop)
            await shop.drain()
        return await settle(settlements)

    shop.inbox.settle = slow
    await worker.drain()
    await shop.drain()
    assert await ran(shop) == ["pay", "refund"]


async def test_of_two_that_are_parked_together_the_one_that_saw_the_old_state_is_found(shop: Shop) -> None:
    """Two hands saw different states, and what they came to is settled in one batch."""
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await pay(shop)
    await shop.drain()
    await refund(shop, "saw the old")
    await refund(shop, "saw the new")
    key = StateKey(lane_of(shop.inbox_id, "stripe", "pi_1"), "order")
    claims = await shop.inbox.claim(token=b"t" * 16, lease=30.0, limit=2)
    seen = {"saw the old": None, "saw the new": "paid"}
    parked = [
        replace(
            settlement(claim, Signal.PARK, due_in=HOUR, reason=parked_for(key)), waits_for=key, seen=seen[claim.key]
        )
        for claim in claims
    ]
    assert [claim.key for claim in claims] == [*seen], "the last one of a batch saw what is there now"
    assert list(await shop.inbox.settle(parked)) == [True, True]
    await Parking(shop.inbox, shop.ledger).after(parked)
    await shop.drain()
    assert await shop.state("saw the old") is State.DONE


@pytest.mark.parametrize("away", ["ledger", "inbox"])
async def test_a_worker_that_could_not_look_while_it_parked_looks_again(shop: Shop, away: str) -> None:
    """It is parked for the second time, so nothing else looks at it before its deadline."""
    declare(
        shop,
        states=["paid", "shipped", "refunded"],
        transitions={"absent": "paid", "paid": "shipped", "shipped": "refunded"},
        state_of={"payment.*": "paid", "parcel.*": "shipped", "refund.*": "refunded"},
        entity={"payment.*": "object.id", "*": "object.payment"},
    )
    shop.on("*", lifecycle="order")(write)
    await refund(shop)
    await shop.drain()
    await pay(shop)
    worker, settle, states, stir = shop.worker(), shop.inbox.settle, shop.ledger.states, shop.inbox.stir

    async def fails(_: Any) -> Any:
        raise LedgerUnavailableError("away") if away == "ledger" else InboxUnavailableError("away")

    async def slow(settlements: Any) -> Any:
        if any(one.signal is Signal.PARK for one in settlements):
            shop.inbox.settle = settle
            await send(shop, "parcel", "parcel.sent", "pa_1", second=3, object={"payment": "pi_1"})
            await shop.drain()
            if away == "ledger":
                shop.ledger.states = fails
            else:
                shop.inbox.stir = fails
        return await settle(settlements)

    shop.inbox.settle = slow
    await worker.drain()
    await worker._parking.look_again()  # it is still away
    shop.ledger.states, shop.inbox.stir = states, stir
    await shop.drain()
    assert (await state_in_ledger(shop, "order", "pi_1"), await shop.state("refund")) == ("shipped", State.PARKED)
    with pytest.raises(StopAsyncIteration):
        await worker._parking.look_again_for_ever(SleepsOnce())
    assert not worker._parking.unseen
    await shop.drain()
    assert await ran(shop) == ["pay", "parcel", "refund"]


async def test_a_worker_remembers_no_more_than_so_many_that_it_could_not_look_at(shop: Shop) -> None:
    async def fails(_: Any) -> Any:
        raise LedgerUnavailableError("away")

    await refund(shop)
    (claim,) = await shop.inbox.claim(token=b"t" * 16, lease=30.0, limit=1)
    plain = settlement(claim, Signal.PARK, due_in=HOUR)
    keys = [StateKey(lane_of(shop.inbox_id, "stripe", str(number)), "order") for number in range(UNSEEN_AT_MOST + 1)]
    parking, shop.ledger.states = Parking(shop.inbox, shop.ledger), fails
    for some in (keys[:400], keys[400:]):
        await parking.after([replace(plain, waits_for=key) for key in some])
    assert len(parking.unseen) == UNSEEN_AT_MOST


async def test_a_worker_that_dies_before_it_looks_again_costs_half_a_minute(shop: Shop) -> None:
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await pay(shop)
    await shop.drain()
    await refund(shop)
    (claim,) = await shop.inbox.claim(token=b"t" * 16, lease=30.0, limit=1)
    parked = replace(settlement(claim, Signal.PARK, due_in=SECOND_LOOK_SECONDS), reason="lifecycle:order:x")
    assert list(await shop.inbox.settle([parked])) == [True]
    await shop.drain()
    assert await shop.state("refund") is State.PARKED
    await shop.advance(SECOND_LOOK_SECONDS + 1)
    await shop.drain()
    assert await shop.state("refund") is State.DONE


async def test_whoever_finds_the_receipt_of_a_payment_stirs_its_refund(shop: Shop) -> None:
    """The worker that paid died after the COMMIT, before it could stir."""
    declare(shop)
    shop.on("*", lifecycle="order")(write)
    await pay(shop)
    await shop.drain()
    await refund(shop)
    (claim,) = await shop.inbox.claim(token=b"t" * 16, lease=30.0, limit=1)
    reason = parked_for(StateKey(lane_of(shop.inbox_id, "stripe", "pi_1"), "order"))
    await shop.inbox.settle([settlement(claim, Signal.PARK, due_in=HOUR, reason=reason)])
    await shop.inbox.recover([(await shop.show("pay")).summary.event_id], who="ada")
    await shop.drain()
    assert await ran(shop) == ["pay", "refund"]


async def test_a_handler_that_waits_beside_one_that_is_tried_again_is_looked_at_within_a_minute(shop: Shop) -> None:
    declare(shop)
    shop.on("refund.*", lifecycle="order", name="refund")(write)
    shop.on("payment.*", lifecycle="order", name="pay")(write)
    failed: list[str] = []

    @shop.on("refund.*")
    async def tell(event: Event, tx: Any) -> None:
        if not failed:
            failed.append(event.key)
            raise RetryLater(after=50)

    await refund(shop)
    await shop.drain()
    assert await shop.state("refund") is State.DELAYED
    await pay(shop)
    await shop.drain()
    await shop.advance(61)
    await shop.drain()
    assert (await ran(shop), await shop.state("refund")) == (["pay", "refund"], State.DONE)


async def test_newest_only_and_a_lifecycle_go_together(shop: Shop) -> None:
    """What is older than what is done is superseded, and does not wait for a state that is gone."""
    declare(
        shop,
        states=["active", "late", "ended"],
        entity=None,
        transitions={"absent": "active", "active": ["late", "ended"], "late": ["active", "ended"]},
        state_of={"a": "active", "l": "late", "e": "ended"},
    )
    shop.on("*", lifecycle="order", newest_only=True)(write)
    for key, type_, second in (("e", "e", 9), ("a", "a", 1), ("l", "l", 5)):
        await send(shop, key, type_, "sub_1", second=second)
        await shop.drain()
    assert await ran(shop) == ["a", "e"]
    assert await shop.states() == {State.DONE: 3}
    assert await state_in_ledger(shop, "order", "sub_1") == "ended"


async def test_a_handler_is_told_the_state_that_its_entity_is_in(shop: Shop) -> None:
    declare(shop)
    seen: list[str | None] = []

    @shop.on("*", lifecycle="order")
    async def handle(event: Event, tx: Any) -> None:
        seen.append(tx.state)
        await write(event, tx)

    await pay(shop)
    await refund(shop)
    await send(shop, "note", "note.added", "pi_1")
    await shop.drain()
    assert seen == ["absent", "paid", None], "one that leads to no state is outside of the lifecycle"

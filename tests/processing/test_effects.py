"""Effects: staged with the writes, performed after the COMMIT, at least once, under a stable key."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.event import Effect, Event
from landfast.domain.ids import WorkerId, event_id, token
from landfast.domain.lifecycle import State
from landfast.domain.outcome import EffectState
from landfast.domain.verdict import GiveUp
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert


async def performed(shop: Shop) -> dict[EffectState, int]:
    return {state: count for state, count in (await shop.ledger.counts()).items() if count}


class Mail:
    """The outside world, which remembers what it was asked to do."""

    def __init__(self, shop: Shop, *, failures: int = 0) -> None:
        self.sent: list[tuple[str, str, int]] = []
        self.failures = failures
        shop.effect(self.send_mail())

    def send_mail(self) -> Any:
        async def send_mail(effect: Effect, to: str) -> None:
            self.sent.append((to, effect.key, effect.attempt))
            if len(self.sent) <= self.failures:
                raise ConnectionError("mail is away")

        return send_mail


@pytest.mark.req("R21")
async def test_an_effect_is_performed_after_the_commit_and_never_for_a_rolled_back_attempt(shop: Shop) -> None:
    mail = Mail(shop)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        tx.stage("send_mail", to=event.key)
        assert mail.sent == []
        if event.attempt < 2:
            raise RuntimeError("rolled back")

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert [to for to, _, _ in mail.sent] == ["evt_1"]
    assert await performed(shop) == {EffectState.DONE: 1}


@pytest.mark.req("R21")
async def test_an_effect_keeps_its_key_over_retries_and_a_forced_replay(shop: Shop) -> None:
    mail = Mail(shop, failures=2)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)

    await shop.deliver("evt_1")
    await shop.settle_down()
    for _ in range(4):
        await shop.advance(4000)
        await shop.drain()
    assert [attempt for _, _, attempt in mail.sent] == [1, 2, 3]
    await shop.inbox.replay([event_id("stripe", "evt_1")], forced=True, who="ana")
    await shop.settle_down()
    assert len(mail.sent) == 4 and len({key for _, key, _ in mail.sent}) == 1


async def test_an_effect_that_keeps_failing_is_dead_and_can_be_retried(shop: Shop) -> None:
    mail = Mail(shop, failures=3)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)

    await shop.deliver("evt_1")
    for _ in range(5):
        await shop.drain()
        await shop.advance(4000)
    [row] = await shop.ledger.list(state=EffectState.DEAD, limit=10)
    assert (row["name"], row["error"]) == ("send_mail", "ConnectionError") and "mail is away" in row["trace"]
    assert await shop.ledger.retry([(row["key"], row["run"])]) == 1
    await shop.drain()
    assert len(mail.sent) == 4 and await performed(shop) == {EffectState.DONE: 1}


async def test_an_effect_that_gives_up_is_dead_at_once(shop: Shop) -> None:
    @shop.effect
    def refuse(effect: Effect) -> None:
        raise GiveUp(effect.event["key"])

    @shop.on()
    def create_order(event: Event, tx: Any) -> None:
        tx.stage(refuse)

    await shop.deliver("evt_1")
    await shop.drain()
    [row] = await shop.ledger.list(limit=10)
    assert (row["state"], row["message"]) == (EffectState.DEAD, "evt_1")


async def test_two_effects_of_one_kind_need_names_of_their_own(shop: Shop) -> None:
    mail = Mail(shop)

    @shop.on("named")
    async def named(event: Event, tx: Any) -> None:
        tx.stage("send_mail", named="customer", to="ana")
        tx.stage("send_mail", named="warehouse", to="ben")

    @shop.on("twice", attempts=1)
    async def twice(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to="ana")
        tx.stage("send_mail", to="ben")

    await shop.deliver("evt_1", type_="named")
    await shop.deliver("evt_2", type_="twice")
    await shop.drain()
    assert sorted(to for to, _, _ in mail.sent) == ["ana", "ben"]
    assert "give each its own named=" in (await shop.show("evt_2")).summary.message


@pytest.mark.parametrize(
    ("effect", "arguments", "sentence"),
    [
        ("no_such", {}, "no such effect"),
        (print, {}, "stage(print): no such effect"),
        ("send_mail", {"whom": 1}, "do not fit the effect"),
        ("send_mail", {"to": object()}, "must be JSON"),
    ],
)
async def test_staging_what_cannot_be_performed_fails_the_attempt_with_a_sentence(
    shop: Shop, effect: Any, arguments: dict[str, Any], sentence: str
) -> None:
    Mail(shop)

    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage(effect, **arguments)

    await shop.deliver("evt_1")
    await shop.drain()
    assert sentence in (await shop.show("evt_1")).summary.message


async def test_a_handler_may_stage_ten_thousand_effects_but_not_more(shop: Shop) -> None:
    Mail(shop)

    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        for number in range(event.data["count"]):
            tx.stage("send_mail", named=str(number), to="x")

    await shop.deliver("evt_1", body=b'{"count":10001}')
    await shop.drain()
    assert "at most 10000 effects" in (await shop.show("evt_1")).summary.message


async def test_an_effect_that_this_worker_does_not_know_waits_for_one_that_does(shop: Shop) -> None:
    mail = Mail(shop)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)
        known.append(shop.registry.effects.pop("send_mail"))

    known: list[Any] = []
    await shop.deliver("evt_1")
    await shop.drain()
    assert mail.sent == [] and await performed(shop) == {EffectState.DELAYED: 1}
    shop.registry.add_effect(known[0])
    await shop.advance(31)
    await shop.drain()
    assert len(mail.sent) == 1


async def test_an_effect_whose_worker_keeps_dying_is_dead_after_three_crashes_alone(shop: Shop) -> None:
    Mail(shop)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)
        shop.registry.effects.pop("send_mail")

    await shop.deliver("evt_1")
    await shop.drain()
    await shop.advance(31)
    assert len(await shop.ledger.claim(token=token(WorkerId(b"crashing"), 1), lease=30, limit=5)) == 1
    for number in range(2, 5):
        await shop.ledger.abandon(worker=WorkerId(b"crashing"))
        assert await shop.ledger.claim_suspect(token=token(WorkerId(b"crashing"), number), lease=30) is not None
    await shop.ledger.abandon(worker=WorkerId(b"crashing"))
    await shop.drain()
    [row] = await shop.ledger.list(limit=10)
    assert (row["state"], row["error"]) == (EffectState.DEAD, "crash_loop")
    assert await shop.state("evt_1") is State.DONE

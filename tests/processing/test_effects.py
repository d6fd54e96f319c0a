"""Effects: staged with the writes, performed after the COMMIT, at least once, under a stable key."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from landfast import telemetry
from landfast.domain.backoff import Backoff
from landfast.domain.effect import EffectState
from landfast.domain.errors import LoopEndedError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import WorkerId, event_id, token
from landfast.domain.lifecycle import State
from landfast.domain.verdict import GiveUp
from landfast.processing.effects.loop import EFFECTS_AT_ONCE
from landfast.processing.effects.perform import UNKNOWN_AT_MOST_SECONDS, UNKNOWN_LONGEST_SECONDS
from landfast.processing.fairness.pace import Pace
from landfast.processing.handlers.registry import EffectHandler
from landfast.recovery.doctor import Level, examine_ledger
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_worker import live, running, until

__all__ = ["live"]


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
    assert await shop.ledger.revive([(row["key"], row["run"])]) == 1
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


async def test_one_slow_effect_delays_no_other(live: Shop) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    quick: list[str] = []

    @live.effect
    async def slow(effect: Effect) -> None:
        entered.set()
        await go_on.wait()

    @live.effect
    async def confirm(effect: Effect, to: str) -> None:
        quick.append(to)

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        if event.key == "slow":
            tx.stage(slow)
        else:
            tx.stage(confirm, to=event.key)

    await live.deliver("slow", *(f"evt_{number:02}" for number in range(40)))
    async with running(live):
        await asyncio.wait_for(entered.wait(), PATIENCE_SECONDS)
        await until(lambda: len(quick) == 40, "all the others were performed")
        await until(lambda: came_to(live, {EffectState.CLAIMED: 1, EffectState.DONE: 40}), "and settled")
        go_on.set()
    assert await performed(live) == {EffectState.DONE: 41}


async def test_as_many_effects_run_at_once_as_there_are_places_and_the_next_comes_when_one_ends(live: Shop) -> None:
    let_go: asyncio.Queue[None] = asyncio.Queue()
    inside: list[int] = [0, 0]

    @live.effect
    async def confirm(effect: Effect) -> None:
        inside[0] += 1
        inside[1] += 1
        await let_go.get()
        inside[0] -= 1

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage(confirm)

    await live.deliver(*(f"evt_{number:02}" for number in range(EFFECTS_AT_ONCE + 3)))
    async with running(live):
        await until(lambda: inside[0] == EFFECTS_AT_ONCE, "all places are taken")
        await until(lambda: is_done(live, EFFECTS_AT_ONCE + 3), "all are staged")
        let_go.put_nowait(None)
        await until(lambda: inside == [EFFECTS_AT_ONCE, EFFECTS_AT_ONCE + 1], "the next one came")
        for _ in range(EFFECTS_AT_ONCE + 2):
            let_go.put_nowait(None)
        await until(lambda: inside == [0, EFFECTS_AT_ONCE + 3], "all ended")


async def came_to(shop: Shop, wanted: dict[EffectState, int]) -> bool:
    return await performed(shop) == wanted


async def is_done(shop: Shop, count: int) -> bool:
    return await shop.states() == {State.DONE: count}


async def forgotten(shop: Shop) -> EffectHandler:
    """An effect that was staged, and that a deploy removed; its registration."""
    Mail(shop)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)

    await shop.deliver("evt_1")
    worker = shop.worker()
    assert await worker._hands.take(Pace())
    return shop.registry.effects.pop("send_mail")


async def test_an_effect_that_nobody_knows_is_visible(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    await forgotten(shop)
    worker = shop.worker()
    for _ in range(4):
        await worker.drain()
        await shop.advance(61)
    [row] = await shop.ledger.list(limit=10)
    assert (row["state"], row["error"]) == (EffectState.DELAYED, "UnknownEffectError")
    assert row["message"].startswith("no effect named send_mail is registered in this worker")
    assert caplog.text.count("unknown_effect effect=send_mail") == 1, "once in a while"
    [check] = [check for check in await examine_ledger(shop.ledger) if check.name == "unknown effects"]
    assert check.level is Level.WARN and "send_mail" in check.found


async def test_an_effect_that_fails_is_told_at_once_and_without_its_message(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    Mail(shop, failures=1)

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)

    await shop.deliver("evt_1")
    await shop.drain()
    told = [record for record in caplog.records if record.name == "landfast"]
    (line,) = [record for record in told if record.getMessage().startswith("effect_failed")]
    assert "effect_failed attempt=1 then=" in line.getMessage()
    assert "ConnectionError at test_effects.py" in line.getMessage()
    assert "mail is away" not in line.getMessage()
    assert "mail is away" in telemetry.detail_of(line), "for a person at a terminal"


async def test_an_effect_that_was_tried_for_days_and_is_unknown_then_has_a_budget_for_each(shop: Shop) -> None:
    registration = await forgotten(shop)
    worker = shop.worker()
    tried = UNKNOWN_AT_MOST_SECONDS + 1
    await shop.sql(f"UPDATE {shop.table('effect')} SET tries_count = 3, tries_spent = {tried}")
    await worker.drain()
    assert await performed(shop) == {EffectState.DELAYED: 1}, "unknown for a moment only"
    await shop.advance(UNKNOWN_LONGEST_SECONDS + 1)
    shop.registry.add_effect(registration)
    [claimed] = await shop.ledger.claim(token=worker._token(), lease=30.0, limit=1)
    assert (claimed.tries.count, claimed.tries.spent) == (3, tried), "the wait was no try"
    assert claimed.unknown_seconds > 0


async def test_an_effect_that_nobody_knows_for_three_days_is_a_dead_letter_and_retry_gives_it_three_more(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    registration = await forgotten(shop)
    worker = shop.worker()
    await shop.sql(f"UPDATE {shop.table('effect')} SET tries_unknown = {UNKNOWN_AT_MOST_SECONDS - 1}")
    await worker.drain()
    assert await performed(shop) == {EffectState.DELAYED: 1}
    await shop.advance(UNKNOWN_LONGEST_SECONDS + 1)
    await worker.drain()
    [row] = await shop.ledger.list(limit=10)
    assert (row["state"], row["error"]) == (EffectState.DEAD, "UnknownEffectError")
    assert "no worker has known an effect named send_mail for 3 days" in row["message"]
    assert "effect_dead effect=send_mail" in caplog.text
    assert await shop.ledger.revive([(row["key"], row["run"])]) == 1
    await worker.drain()
    assert await performed(shop) == {EffectState.DELAYED: 1}
    shop.registry.add_effect(registration)
    await shop.advance(31)
    await worker.drain()
    assert await performed(shop) == {EffectState.DONE: 1}


async def test_the_time_in_which_nobody_knew_an_effect_is_not_held_against_its_tries(shop: Shop) -> None:
    registration = await forgotten(shop)
    worker = shop.worker()
    await shop.sql(f"UPDATE {shop.table('effect')} SET tries_unknown = {UNKNOWN_AT_MOST_SECONDS - 1}")

    async def fails(effect: Effect, to: str) -> None:
        raise ConnectionError("away")

    backoff = Backoff(total=3600.0)
    shop.registry.add_effect(replace(registration, function=fails, backoff=backoff))
    await worker.drain()
    [row] = await shop.ledger.list(limit=10)
    assert (row["state"], row["error"]) == (EffectState.DELAYED, "ConnectionError")


async def test_no_effect_runs_on_when_its_worker_has_ended(live: Shop) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    @live.effect
    async def send_mail(effect: Effect, to: str) -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # it cleans up behind itself
            ended.set()

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("send_mail", to=event.key)

    await live.deliver("evt_1")
    task = asyncio.create_task(live.worker().run())
    await asyncio.wait_for(entered.wait(), PATIENCE_SECONDS)
    next(each for each in asyncio.all_tasks() if each.get_name() == "landfast requeue").cancel()
    with pytest.raises(LoopEndedError):
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    assert ended.is_set(), "its stores close now"

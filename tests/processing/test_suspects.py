"""Suspects: alone in a process of their own, told to whoever has one, or between the others where nobody has."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from landfast.domain.effect import EffectState, StagedEffect
from landfast.domain.errors import LoopEndedError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import HandlerName, ReceiptDigest, WorkerId, token
from landfast.domain.lifecycle import State
from landfast.domain.outcome import ReceiptKey
from landfast.processing.control import gate, suspects
from landfast.processing.worker import Worker
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_worker import live, running, until

__all__ = ["live"]

DEAD = WorkerId(b"deadwork")


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "FIRST_HOLD_SECONDS", 0.2)
    monkeypatch.setattr(suspects, "SUSPECT_FINISH_SECONDS", 0.05)


async def make_suspects(shop: Shop, *keys: str) -> None:
    await shop.deliver(*keys)
    assert len(await shop.inbox.claim(token=token(DEAD, 1), lease=30, limit=len(keys))) == len(keys)
    await shop.inbox.abandon(worker=DEAD)


async def test_the_process_of_the_suspects_runs_nothing_else_and_ends_when_there_are_none(shop: Shop) -> None:
    inside, most = 0, 0

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await insert(event, tx)
        await asyncio.sleep(0)
        inside -= 1

    await make_suspects(shop, "evt_1", "evt_2", "evt_3")
    await shop.deliver("evt_4")
    await shop.worker().run_suspects()
    assert await shop.orders() == ["evt_1", "evt_2", "evt_3"]
    assert most == 1
    assert await shop.state("evt_4") is State.READY, "that one is for the workers"


async def test_the_process_of_the_suspects_performs_effects_whose_worker_died(shop: Shop) -> None:
    sent: list[str] = []

    @shop.effect
    async def send_mail(effect: Effect, to: str) -> None:
        sent.append(to)

    await stage_suspect(shop)
    await shop.worker().run_suspects()
    assert sent == ["evt_1"]


@pytest.mark.parametrize("how", ["async", "thread"])
@pytest.mark.parametrize("where", ["apart", "between"])
@pytest.mark.usefixtures("brief")
async def test_a_suspect_that_a_stop_cuts_short_is_given_back_and_not_counted(live: Shop, where: str, how: str) -> None:
    entered, let_go = threading.Event(), threading.Event()

    if how == "async":

        @live.on(deadline=60.0)
        async def create_order(event: Event, tx: Any) -> None:
            entered.set()
            await asyncio.Event().wait()
    else:

        @live.on(deadline=60.0)
        def create_order(event: Event, tx: Any) -> None:
            entered.set()
            let_go.wait(PATIENCE_SECONDS)

    await make_suspects(live, "evt_1")
    for _ in range(4):
        await stopped_inside(live.worker(), entered, where)
        assert await live.state("evt_1") is State.READY
    claim = await live.inbox.claim_suspect(token=token(DEAD, 9), lease=30)
    assert claim is not None and claim.crashes == 0
    let_go.set()


@pytest.mark.parametrize("where", ["apart", "between"])
@pytest.mark.usefixtures("brief")
async def test_an_effect_that_a_stop_cuts_short_is_given_back_and_not_counted(live: Shop, where: str) -> None:
    entered = threading.Event()

    @live.effect
    async def send_mail(effect: Effect, to: str) -> None:
        entered.set()
        await asyncio.Event().wait()

    await stage_suspect(live)
    await stopped_inside(live.worker(), entered, where)
    [row] = await live.ledger.list(limit=10)
    assert row["state"] is EffectState.READY
    claim = await live.ledger.claim_suspect(token=token(DEAD, 9), lease=30)
    assert claim is not None and claim.crashes == 0


@pytest.mark.req("R24")
async def test_where_suspects_have_a_process_a_worker_tells_of_them_and_holds_nobody_back(live: Shop) -> None:
    told, entered, leave = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @live.on("order.slow", deadline=60.0)
    async def slow(event: Event, tx: Any) -> None:
        entered.set()
        await leave.wait()

    live.on("order.created", name="create_order")(insert)
    await make_suspects(live, "evt_suspect")
    await live.deliver("evt_slow", type_="order.slow")
    hands = {} if live.store == "postgres" else {"hands": 2}
    async with running(live, tell_suspects=told.set, **hands):
        await entered.wait()
        for _ in range(2):
            told.clear()
            await asyncio.wait_for(told.wait(), PATIENCE_SECONDS)  # as long as there are any
        if live.store == "sqlite":  # which has one writer
            leave.set()
        await live.deliver("evt_quick")
        await until(lambda: live.state_is("evt_quick", State.DONE), "it waits for nobody")
        leave.set()
    assert await live.inbox.has_suspects(), "it is not run here"


@pytest.mark.usefixtures("brief")
async def test_one_slow_effect_and_one_suspect_do_not_stop_the_hands(live: Shop) -> None:
    """Where suspects run between the others: these are held back for a moment, and not until the effect has ended."""
    entered, leave = asyncio.Event(), asyncio.Event()

    @live.effect
    async def slow(effect: Effect) -> None:
        entered.set()
        await leave.wait()

    @live.on("order.staging")
    async def stages(event: Event, tx: Any) -> None:
        tx.stage("slow")

    live.on("order.created", name="create_order")(insert)
    await live.deliver("evt_suspect")
    assert await live.inbox.claim(token=token(DEAD, 1), lease=30, limit=1)
    await live.deliver("evt_stages", type_="order.staging")
    async with running(live):
        await entered.wait()
        await live.inbox.abandon(worker=DEAD)
        for key in ("evt_1", "evt_2", "evt_3"):
            await live.deliver(key)
            await until(lambda: live.state_is(key, State.DONE), "it waits for a moment at most")  # noqa: B023 - awaited here
        leave.set()
        await until(lambda: live.state_is("evt_suspect", State.DONE), "then it is alone")


async def test_a_worker_that_fails_around_a_suspect_counts_nothing_against_it(live: Shop) -> None:
    """As in an application that mounts the inbox, which starts the worker again."""
    entered = asyncio.Event()

    @live.on(deadline=60.0)
    async def create_order(event: Event, tx: Any) -> None:
        entered.set()
        await asyncio.Event().wait()

    await make_suspects(live, "evt_1")
    worker = live.worker()
    task = asyncio.create_task(worker.run())
    await asyncio.wait_for(entered.wait(), PATIENCE_SECONDS)
    next(each for each in asyncio.all_tasks() if each.get_name() == "landfast requeue").cancel()
    with pytest.raises(LoopEndedError):
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    await worker.let_go()
    claim = await live.inbox.claim_suspect(token=token(DEAD, 9), lease=30)
    assert claim is not None and claim.crashes == 0


async def stopped_inside(worker: Worker, entered: threading.Event, where: str) -> None:
    """Run suspects until one is in its handler, and then stop."""
    entered.clear()
    task = asyncio.create_task(worker.run_suspects() if where == "apart" else worker.run())
    await until(entered.is_set, "inside")
    worker.stop()
    await asyncio.wait_for(task, PATIENCE_SECONDS)


async def stage_suspect(shop: Shop) -> None:
    """An effect named send_mail, whose worker died."""
    digest = ReceiptDigest(b"d" * 32)
    staged = StagedEffect("key_1", 1, digest, HandlerName("create_order"), "send_mail", b'{"to":"evt_1"}')
    tx = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([ReceiptKey(digest, HandlerName("create_order"), 1)])
    await tx.commit(results=(), effects=[staged])
    assert len(await shop.ledger.claim(token=token(DEAD, 1), lease=30, limit=5)) == 1
    assert await shop.ledger.abandon(worker=DEAD) == 1

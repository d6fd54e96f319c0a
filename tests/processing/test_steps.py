"""Graphs of effects: what is staged after others is performed after them, with their results, and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.effect import EffectSettlement, EffectState
from landfast.domain.erasure import Erased
from landfast.domain.errors import ConfigError, StagingError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import HandlerName, event_id, receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.processing.handlers.registry import EffectHandler, Handler, Registry
from landfast.processing.handlers.stage import StagedResult
from landfast.processing.handlers.transaction import Transaction
from landfast.testing.reports import WorkerKilledError
from landfast.testing.witness import Watched
from tests.processing.shop import Shop
from tests.processing.test_effects import performed
from tests.processing.test_exactly_once import insert
from tests.sealing.scenes import files_with

GRAPH = ("charge", "account", "mail", "provision", "report")


class Workflow:
    """A payment, then an account, then a mail and a server side by side, then a report of both."""

    def __init__(self, shop: Shop) -> None:
        self.log: list[tuple[str, str, Any]] = []
        """What was performed: the name, its key, and what it was given."""
        self.fails: dict[str, Exception] = {}

        @shop.effect
        async def charge(effect: Effect, payment: str) -> dict[str, str]:
            returned: dict[str, str] = self.did(effect, payment, {"charge": payment})
            return returned

        @shop.effect
        def account(effect: Effect, charged: Any) -> Any:
            return self.did(effect, charged, 7)

        @shop.effect
        async def mail(effect: Effect, account: int) -> None:
            self.did(effect, account, None)

        @shop.effect
        async def provision(effect: Effect, account: int) -> Any:
            return self.did(effect, account, f"server of {account}")

        @shop.effect
        async def report(effect: Effect, parts: list[Any]) -> None:
            self.did(effect, parts, None)

        @shop.on("order.created")
        async def sign_up(event: Event, tx: Any) -> None:
            await insert(event, tx)
            charged = tx.stage(charge, payment=event.key)
            opened = tx.stage(account, charged=charged.result)
            mailed = tx.stage(mail, after=[opened], account=opened.result)
            served = tx.stage(provision, account=opened.result)
            tx.stage(report, parts=[mailed.result, served.result])

    def did(self, effect: Effect, given: Any, returned: Any) -> Any:
        if effect.name in self.fails:
            raise self.fails[effect.name]
        self.log.append((effect.name, effect.key, given))
        return returned

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.log]


@pytest.mark.req("R30")
async def test_each_step_runs_after_those_it_follows_with_their_results(shop: Shop) -> None:
    workflow = Workflow(shop)
    await shop.deliver("pay_1")
    await shop.drain()
    assert sorted(workflow.names) == sorted(GRAPH)
    given = {name: given for name, _, given in workflow.log}
    assert workflow.names[:2] == ["charge", "account"]
    assert workflow.names[-1] == "report"
    assert given["account"] == {"charge": "pay_1"}
    assert given["mail"] == given["provision"] == 7
    assert given["report"] == [None, "server of 7"]
    assert await performed(shop) == {EffectState.DONE: 5}


@pytest.mark.req("R30")
async def test_steps_after_a_dead_one_wait_and_go_on_when_it_was_retried(shop: Shop) -> None:
    workflow = Workflow(shop)
    workflow.fails["mail"] = GiveUp("no such address")
    await shop.deliver("pay_1")
    await shop.drain()
    assert workflow.names == ["charge", "account", "provision"]
    assert await performed(shop) == {EffectState.DONE: 3, EffectState.DEAD: 1, EffectState.WAITING: 1}
    [dead] = await shop.ledger.list(state=EffectState.DEAD, limit=9)
    [blocked] = await shop.ledger.list(state=EffectState.WAITING, limit=9)
    assert dead["key"] in blocked["step"].after
    workflow.fails.clear()
    assert await shop.ledger.revive([(dead["key"], dead["run"])]) == 1
    await shop.drain()
    assert workflow.names[3:] == ["mail", "report"], "and nothing that was done is done again"


@pytest.mark.req("R30")
async def test_a_worker_that_dies_at_any_step_repeats_no_finished_one(shop: Shop) -> None:
    """Before its settlement is written, the step is performed again, under its key; after it, never."""
    workflow = Workflow(shop)
    for killed, when in product(GRAPH, ("before", "after")):
        workflow.log.clear()
        await shop.deliver(f"{killed} {when}")
        with pytest.raises(WorkerKilledError):
            await shop.worker(effects=dies_at(shop, killed, when=when)).drain()
        await shop.ledger.abandon(worker=shop.workers.to_bytes(8, "big"))
        await shop.drain()
        assert set(workflow.names) == set(GRAPH)
        again = {name for name in GRAPH if workflow.names.count(name) > 1}
        # What ran beside it may not have been written down either.
        beside = {"mail", "provision"} if killed in {"mail", "provision"} else {killed}
        assert again <= beside and (when == "after" or killed in again)
        assert len({key for _, key, _ in workflow.log}) == 5
    assert await performed(shop) == {EffectState.DONE: 5 * 10}


def dies_at(shop: Shop, name: str, *, when: str) -> Any:
    """The ledger of a worker that is killed around the settlement of an effect."""
    of = {}

    async def claim(**asked: Any) -> Sequence[Any]:
        claimed: Sequence[Any] = await shop.ledger.claim(**asked)
        of.update({each.staged.key: each.staged.name for each in claimed})
        return claimed

    async def settle(settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        is_it = any(of.get(each.key) == name for each in settlements)
        if is_it and when == "before":
            raise WorkerKilledError(name)
        took: Sequence[bool] = await shop.ledger.settle(settlements)
        if is_it:
            raise WorkerKilledError(name)
        return took

    return Watched(shop.ledger, claim=claim, settle=settle)


@pytest.mark.req("R30")
async def test_a_step_that_writes_does_so_once_whatever_is_lost_and_what_it_stages_follows(shop: Shop) -> None:
    sent = []

    @shop.effect
    async def account(effect: Effect, tx: Transaction, key: str) -> dict[str, Any]:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", key)
        told = tx.stage(mail, to=key)
        return {"told": str(told), "attempt": effect.attempt}

    @shop.effect
    def ledger(effect: Effect, tx: Any, opened: Any) -> None:
        tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 2)", f"{opened['attempt']}")

    @shop.effect
    async def mail(effect: Effect, to: str) -> None:
        sent.append((to, effect.key))

    @shop.on()
    async def sign_up(event: Event, tx: Any) -> None:
        opened = tx.stage(account, key=event.key)
        tx.stage(ledger, opened=opened.result)

    await shop.deliver("pay_1")
    with pytest.raises(WorkerKilledError):
        await shop.worker(effects=dies_at(shop, "account", when="before")).drain()
    await shop.ledger.abandon(worker=shop.workers.to_bytes(8, "big"))
    await shop.drain()
    assert await shop.orders() == ["1", "pay_1"], "its result is that of the first time"
    assert [to for to, _ in sent] == ["pay_1"]
    [row] = [row for row in await shop.ledger.list(limit=9) if row["name"] == "mail"]
    assert row["handler"] == "sign_up/account"
    await shop.inbox.replay([event_id("stripe", "pay_1")], forced=True, who="ana")
    await shop.drain()
    assert await shop.orders() == ["1", "1", "pay_1", "pay_1"], "a forced replay is a run of its own"
    assert len({key for _, key in sent}) == 1


async def test_a_step_is_none_of_the_handlers_of_its_event(shop: Shop) -> None:
    """Its receipt lies beside theirs, and is found when the event is looked at again: what made the event done are the
    handlers, as the proof asks for them."""
    fails = [True]

    @shop.effect
    async def account(effect: Effect, tx: Transaction) -> None:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ('account', 1)")

    @shop.on(name="sign_up")
    async def sign_up(event: Event, tx: Any) -> None:
        tx.stage(account)

    @shop.on(name="book")
    async def book(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if fails:
            raise ConnectionError("away")

    await shop.deliver("pay_1")
    await shop.drain()
    await shop.drain()
    assert await shop.orders() == ["account"]
    fails.clear()
    await shop.advance(3_600)
    told: list[Any] = []

    async def settle(settlements: Sequence[Any]) -> Any:
        told.extend(settlements)
        return await inbox.settle(settlements)

    inbox, shop.inbox = shop.inbox, Watched(shop.inbox, settle=settle)
    await shop.drain()
    shop.inbox = inbox
    assert await shop.orders() == ["account", "pay_1"]
    assert [sorted(each.handlers) for each in told] == [["book", "sign_up"]]


def test_no_name_can_pass_for_a_step_of_a_handler() -> None:
    async def function(event: Event, tx: Any) -> None: ...

    options: dict[str, Any] = {"function": function, "attempts": 1, "backoff": Backoff(), "deadline": 30.0}
    handler = Handler(
        name=HandlerName("sign_up/account"), source="s", pattern="*", isolation=None, group=True, **options
    )
    with pytest.raises(ConfigError, match="handler sign_up/account: a name has no '/'"):
        Registry().add_handler(handler)
    with pytest.raises(ConfigError, match="effect sign_up/account: a name has no '/'"):
        Registry().add_effect(EffectHandler(name="sign_up/account", **options))


async def test_a_step_of_an_event_that_is_erased_while_it_waits_for_its_place_writes_nothing(shop: Shop) -> None:
    """A worker claims more steps than it performs at a time, so one may wait in its hand for long."""
    sent = []

    @shop.effect
    async def account(effect: Effect, tx: Transaction, name: str) -> str:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", name)
        tx.stage(mail, to=name)
        return name

    @shop.effect
    async def mail(effect: Effect, to: str) -> None:
        sent.append(to)

    @shop.on()
    async def sign_up(event: Event, tx: Any) -> None:
        tx.stage(account, name="Ada")

    digest = receipt_digest(shop.inbox_id, "stripe", "pay_1")

    async def claim(**asked: Any) -> Any:
        claimed = await shop.ledger.claim(**asked)
        if claimed:
            await shop.ledger.erase(shop.inbox_id, [Erased(event_id("stripe", "pay_1"), digest)], who="ana")
        return claimed

    await shop.deliver("pay_1")
    await shop.worker(effects=Watched(shop.ledger, claim=claim)).drain()
    await shop.drain()
    assert (await shop.orders(), sent) == ([], [])
    assert await performed(shop) == {EffectState.DEAD: 1}


async def test_a_step_of_an_event_that_is_erased_while_it_runs_leaves_nothing(postgres_shop: Shop) -> None:
    """On SQLite whoever erases waits for the step. Here the step is the one that comes too late."""
    shop, digest = postgres_shop, receipt_digest(postgres_shop.inbox_id, "stripe", "pay_1")

    @shop.effect
    async def account(effect: Effect, tx: Transaction, name: str) -> str:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", name)
        tx.stage(mail, to=name)
        await shop.ledger.erase(shop.inbox_id, [Erased(event_id("stripe", "pay_1"), digest)], who="ana")
        return name

    @shop.effect
    async def mail(effect: Effect, to: str) -> None: ...

    @shop.on()
    async def sign_up(event: Event, tx: Any) -> None:
        tx.stage(account, name="Ada")

    await shop.deliver("pay_1")
    await shop.drain()
    assert await shop.orders() == []
    assert await performed(shop) == {EffectState.DEAD: 1}
    assert all(receipt.result is None for receipt in await shop.ledger.receipts([digest]))


async def test_a_step_that_fails_leaves_no_writes_and_is_tried_again(shop: Shop) -> None:
    @shop.effect
    async def account(effect: Effect, tx: Transaction) -> None:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", str(effect.attempt))
        if effect.attempt == 1:
            raise ConnectionError("away")
        if effect.attempt == 2:
            await tx.execute("SELECT no_such_column FROM orders")

    @shop.on()
    async def sign_up(event: Event, tx: Any) -> None:
        tx.stage(account)

    await shop.deliver("pay_1")
    for _ in range(3):
        await shop.drain()
        await shop.advance(4000)
    assert await shop.orders() == ["3"]
    assert await performed(shop) == {EffectState.DONE: 1}


@pytest.mark.req("R30")
async def test_a_step_is_not_performed_before_its_time(shop: Shop) -> None:
    workflow = Workflow(shop)

    @shop.on("later")
    async def remind(event: Event, tx: Any) -> None:
        first = tx.stage("charge", payment="a", at=timedelta(hours=1))
        tx.stage("mail", after=[first], account=1, at=shop.clock.now() + timedelta(hours=3))

    await shop.deliver("pay_1", type_="later")
    await shop.drain()
    assert workflow.names == []
    for expected in (["charge"], ["charge"], ["charge", "mail"]):
        await shop.advance(3_700)
        await shop.drain()
        assert workflow.names == expected


async def test_a_handler_is_tried_again_at_the_time_that_it_names(shop: Shop) -> None:
    tried = []

    @shop.on()
    async def wait_for_noon(event: Event, tx: Any) -> None:
        tried.append(event.attempt)
        if event.attempt == 1:
            raise RetryLater("not before noon", until=shop.clock.now() + timedelta(hours=1))
        await insert(event, tx)

    await shop.deliver("pay_1")
    await shop.drain()
    await shop.advance(3_000)
    await shop.drain()
    assert tried == [1]
    await shop.advance(700)
    await shop.drain()
    assert (tried, await shop.orders()) == ([1, 2], ["pay_1"])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"after": ["welcome"]}, "after names welcome, which is not staged for this event before it"),
    "itself": ({"after": ["mail"]}, "after names mail, which is not staged for this event before it"),
    "no list": ({"after": "charge"}, "after is a list, such as after=['charge']"),
    "no zone": ({"at": datetime(2027, 1, 1)}, "without a time zone"),  # noqa: DTZ001 - that is the point
    "too far": ({"at": timedelta(days=9_999)}, "more than ten years ahead"),
    "no time": ({"at": 60}, "it is a datetime with its time zone, or a timedelta"),
    "of others": ({"account": StagedResult("other")}, "a result of something that this event did not stage"),
    "twice": ({"named": "x"}, "named 'x' is staged twice for this event; give each its own named="),
    "NUL": ({"named": "a\0b"}, "has a character that no database takes"),
    "taken": ({"named": "charge"}, "charge names another step of this event; give it another named="),
    "misspelt": ({"afer": ["charge"]}, "got an unexpected keyword argument 'afer'; did you mean 'after'?"),
    "too deep": ({"account": {"id": StagedResult("other")}}, "the arguments must be JSON"),
}


@pytest.mark.req("R30")
async def test_what_cannot_be_staged_is_a_dead_letter_at_once_with_one_sentence(shop: Shop) -> None:
    Workflow(shop)

    @shop.on("bad")
    async def sign_up_badly(event: Event, tx: Any) -> None:
        tx.stage("charge", payment="a")
        tx.stage("mail", named="x", account=1) if event.key == "twice" else None
        tx.stage("mail", **{"account": 1, **REFUSED[event.key][0]})

    await shop.deliver(*REFUSED, type_="bad")
    await shop.drain()
    for key, (_, sentence) in REFUSED.items():
        record = await shop.show(key)
        assert record.summary.state is State.DEAD
        assert sentence in record.summary.message
    assert await performed(shop) == {}


def test_a_result_that_is_put_into_a_text_is_refused_before_anybody_reads_it() -> None:
    with pytest.raises(StagingError, match="a result is not known yet: pass it as an argument of its own"):
        f"account {StagedResult('other')}"


def test_a_verdict_says_when_in_one_way() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        RetryLater(until=datetime(2027, 1, 1))  # noqa: DTZ001 - that is the point
    neither: dict[str, Any] = {}
    for both in (neither, {"after": 1.0, "until": datetime.fromisoformat("2027-01-01T00:00Z")}):
        with pytest.raises(ValueError, match="either after=, in seconds, or until="):
            RetryLater(**both)


async def test_what_a_step_returns_is_sealed_and_still_given_to_those_after_it(tmp_path: Path) -> None:
    shop = Shop("sqlite", str(tmp_path), masters=[bytes(range(32))])
    await shop.open()
    workflow = Workflow(shop)
    await shop.deliver("pay_1")
    await shop.drain()
    assert workflow.log[-1][2] == [None, "server of 7"]
    rows = {row["name"]: row for row in await shop.ledger.list(limit=9)}
    assert rows["provision"]["result"] == b'"server of 7"'
    assert files_with(tmp_path, b"server of 7") == []
    digest = receipt_digest(shop.inbox_id, "stripe", "pay_1")
    await shop.ledger.erase(shop.inbox_id, [Erased(event_id("stripe", "pay_1"), digest)], who="ana")
    assert [row["result"] for row in await shop.ledger.list(limit=9)] == [None] * 5
    await shop.close()

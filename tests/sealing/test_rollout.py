"""A master key that not everybody has yet: nothing that another worker could open is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from landfast.app import stores
from landfast.app.late_inbox import open_late_inbox
from landfast.config import load
from landfast.domain.effect import EffectState, StagedEffect
from landfast.domain.errors import InboxUnavailableError, JournalUnavailableError
from landfast.domain.ids import BootId, HandlerName, receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.outcome import ReceiptKey
from landfast.inboxes.sqlite import SqliteInbox
from landfast.journals.spool import Spool
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import deliveries
from tests.patience import PATIENCE_SECONDS
from tests.processing.entities import send
from tests.processing.shop import STORES, Shop
from tests.sealing.scenes import MASTER, OTHER, deliver
from tests.shops import until


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    return request.param, str(tmp_path) if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.mark.parametrize("masters", [[], [OTHER]], ids=["none", "another"])
async def test_a_worker_without_the_master_key_leaves_an_event_to_those_who_have_it(
    place: tuple[str, str], masters: list[bytes]
) -> None:
    shop, ran = Shop(*place, masters=[MASTER]), list[str]()
    shop.on("later", name="later")(lambda event, tx: ran.append(event.key))
    await shop.open()
    await deliver(shop, "later", "a name")
    before = Shop(*place, clock=shop.clock, registry=shop.registry, masters=masters)
    await before.open(create=False)
    await before.drain()
    (line,) = (await shop.show("evt_later")).history
    assert (await shop.states(), line.reason, ran) == ({State.DELAYED: 1}, "no_master_key", [])
    await shop.advance(11)
    await shop.drain()
    assert (await shop.states(), ran) == ({State.DONE: 1}, ["evt_later"])
    await before.close()
    await shop.close()


@pytest.mark.parametrize("masters", [[], [OTHER]], ids=["none", "another"])
async def test_a_worker_without_the_master_key_does_not_go_on_with_the_entity(
    place: tuple[str, str], masters: list[bytes]
) -> None:
    """The second event comes by an intake without the new key: this worker could run it, and claims it with the first.
    After one of somebody else, because its claims begin small."""
    shop, ran = Shop(*place, masters=[MASTER]), list[str]()
    shop.on("*", name="sync", ordered=True)(lambda event, tx: ran.append(event.key))
    await shop.open()
    await shop.inbox.order(["stripe"])
    before = Shop(*place, clock=shop.clock, registry=shop.registry, masters=masters)
    await before.open(create=False)
    await send(before, "another", "changed", "cus_8", second=1)
    await send(shop, "first", "changed", "cus_9", second=1)
    await send(before, "second", "changed", "cus_9", second=2)
    await before.drain()
    assert (await shop.states(), ran) == ({State.DONE: 1, State.DELAYED: 1, State.QUEUED: 1}, ["another"])
    await shop.advance(11)
    both = Shop(*place, clock=shop.clock, registry=shop.registry, masters=[MASTER, *masters])
    await both.open(create=False)
    await both.settle_down()
    assert ran == ["another", "first", "second"]
    for one in (both, before, shop):
        await one.close()


async def test_a_worker_without_the_master_key_leaves_an_effect_to_those_who_have_it(place: tuple[str, str]) -> None:
    shop, sent = Shop(*place, masters=[MASTER]), list[str]()

    async def mail(effect: Any, to: str) -> None:
        sent.append(to)

    shop.effect(mail, attempts=1)
    await shop.open()
    digest = receipt_digest(shop.inbox_id, "stripe", "evt_1")
    transaction = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
    assert await transaction.reserve([ReceiptKey(digest, HandlerName("good"), 1)]) == [None]
    staged = StagedEffect("key", 1, digest, HandlerName("good"), "mail", b'{"to":"a name"}')
    await transaction.commit(results=(), effects=[staged])
    before = Shop(*place, clock=shop.clock, registry=shop.registry, masters=[OTHER])
    await before.open(create=False)
    await before.drain()
    (effect,) = await shop.ledger.list(limit=9)
    assert (effect["state"], effect["attempts"], effect["error"], sent) == (EffectState.DELAYED, 0, "no_master_key", [])
    await shop.advance(11)
    await shop.drain()
    assert sent == ["a name"]
    await before.close()
    await shop.close()


async def test_what_a_worker_writes_about_an_event_from_before_the_seal_can_be_read_by_others(
    place: tuple[str, str],
) -> None:
    """The event has no data key, and no intake with this worker's store key has ever recorded anything."""
    plain = Shop(*place)
    await plain.open()
    await deliver(plain, "bad", "a name")
    await plain.close()

    async def bad(event: Any, tx: Any) -> None:
        raise ValueError("no such customer as a name")

    worker = Shop(*place, clock=plain.clock, masters=[MASTER])
    worker.on("bad", name="bad", attempts=1)(bad)
    await worker.open(create=False)
    await worker.drain()
    await worker.close()
    reader = Shop(*place, clock=plain.clock, masters=[MASTER])
    await reader.open(create=False)
    shown = await reader.show("evt_bad")
    assert shown.summary.message == shown.history[-1].attempts[0].message == "no such customer as a name"
    await reader.close()


@pytest.mark.parametrize("masters", [[], [OTHER]], ids=["none", "another"])
async def test_a_spool_takes_nothing_more_once_the_inbox_is_back_and_needs_another_master_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, masters: list[bytes]
) -> None:
    """It would be in clear, or under a key that nobody knows of."""
    shop = Shop("sqlite", str(tmp_path), masters=[MASTER])
    await shop.open()
    await deliver(shop, "later", "a name")
    await shop.close()
    away = [InboxUnavailableError("away")]

    class LateInbox(SqliteInbox):
        async def open(self) -> None:
            if away:
                raise away.pop()
            await super().open()

    clock, chance, seal = ManualClock(), SeededChance(1), Seal(masters)
    late = LateInbox(tmp_path / "inbox.db", clock=clock, chance=chance, seal=seal)
    monkeypatch.setattr(stores, "make_inbox", lambda *_: late)
    named = {"store": f"sqlite:{tmp_path}/inbox.db", "ledger": f"sqlite:{tmp_path}/ledger.db", "spool": str(tmp_path)}
    settings = load(overrides=named)
    spool = Spool(tmp_path / "spool", boot=BootId(b"b" * 8), clock=clock, limit=2**24, anywhere=True, seal=seal)
    await spool.open()
    async with open_late_inbox(settings, clock, chance, seal):
        await spool.record(deliveries(1))
        await until(lambda: bool(seal.refusal), True)
        with pytest.raises(JournalUnavailableError, match=r"^seal: the inbox (is|was) sealed"):
            await spool.record(deliveries(1))
    await spool.close()


@pytest.mark.parametrize("masters", [[], [OTHER]], ids=["none", "another"])
async def test_an_inbox_that_came_back_takes_nothing_before_the_seal_was_found_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, masters: list[bytes]
) -> None:
    """In clear it could be read by anybody; under another key, intakes with the right one would refuse to start."""
    shop = Shop("sqlite", str(tmp_path), masters=[MASTER])
    await shop.open()
    await deliver(shop, "later", "a name")
    await shop.close()
    away, migrated, may_go_on = [InboxUnavailableError("away")], asyncio.Event(), asyncio.Event()

    class LateInbox(SqliteInbox):
        async def open(self) -> None:
            if away:
                raise away.pop()
            await super().open()

        async def migrate(self) -> Sequence[str]:
            applied = await super().migrate()
            migrated.set()
            await may_go_on.wait()  # for whoever migrates besides, say
            return applied

    clock, chance, seal = ManualClock(), SeededChance(1), Seal(masters)
    monkeypatch.setattr(
        stores, "make_inbox", lambda *_: LateInbox(tmp_path / "inbox.db", clock=clock, chance=chance, seal=seal)
    )
    named = {"store": f"sqlite:{tmp_path}/inbox.db", "ledger": f"sqlite:{tmp_path}/ledger.db", "spool": str(tmp_path)}
    async with open_late_inbox(load(overrides=named), clock, chance, seal) as (inbox, _):
        await migrated.wait()
        with pytest.raises(InboxUnavailableError, match="not open"):
            await inbox.record(deliveries(1))
        may_go_on.set()
        await until(lambda: bool(seal.refusal), True)
        with pytest.raises(InboxUnavailableError, match="not open"):
            await inbox.record(deliveries(1))
    right = SqliteInbox(tmp_path / "inbox.db", clock=clock, chance=chance, seal=Seal([MASTER]))
    await right.open()
    await stores.check_seal("the inbox", right, Seal([MASTER]))
    assert (await right.census()).events == 1
    await right.close()

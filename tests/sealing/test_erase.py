"""Erasing over both databases: what stays provable, what a kill or a restore comes to, and what operators are told."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast.app.stores import bind
from landfast.cli import main
from landfast.config import load
from landfast.domain.erasure import ERASED
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName, receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.outcome import ReceiptKey
from landfast.inboxes.postgres import erase as inbox_erase
from landfast.ledgers.postgres import ledger as ledger_module
from landfast.recovery.erase import erase, erase_again, erase_these, scrub
from landfast.recovery.proof import prove
from landfast.testing.clock import SeededChance
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.sealing.scenes import MASTER, deliver, files_with, fill

CANARY = "canary-of-one-person"


async def _all(shop: Shop) -> Any:
    return await erase(shop.inbox, shop.ledger, shop.inbox_id, Filter(entity="cus_9"), who="ada")


async def test_dedup_receipts_and_proof_hold_after_an_erasure(shop: Shop) -> None:
    events = await fill(shop, CANARY)
    before = await prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance(4))
    assert (await _all(shop)).erased == len(events)
    after = await prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance(5), full=True)
    assert (before.holds, after.holds) == (True, True)
    ran: list[Any] = []
    shop.registry.handlers.clear()
    shop.on("*", name="again")(lambda event, tx: ran.append(event))
    await fill_again(shop)
    await shop.drain()
    assert not ran
    assert await shop.states() == {State.DONE: 1, State.DEAD: 2}


async def fill_again(shop: Shop) -> None:
    for kind in ("good", "bad", "later"):
        await deliver(shop, kind, CANARY)


@pytest.mark.parametrize("killed_after", ["inbox", "ledger", "nothing"])
async def test_an_erasure_that_was_killed_is_finished_by_the_next(shop: Shop, killed_after: str) -> None:
    events = await fill(shop, CANARY)
    found = await shop.inbox.find(Filter(entity="cus_9"), limit=9)

    class KilledError(Exception):
        pass

    class Deadly:
        """A ledger that dies under the erasure, before it did anything or right after."""

        async def erase(self, *what: Any, **how: Any) -> None:
            if killed_after == "ledger":
                await shop.ledger.erase(*what, **how)
            raise KilledError

    if killed_after != "nothing":
        with pytest.raises(KilledError):
            await erase_these(shop.inbox, Deadly(), shop.inbox_id, found, who="ada")  # type: ignore[arg-type]
    report = await _all(shop)
    again = await erase_again(shop.inbox, shop.ledger, shop.inbox_id)
    assert (report.erased, again) == {"nothing": (len(events), 0), "inbox": (0, 3), "ledger": (0, 0)}[killed_after]
    assert await scrub(shop.inbox, shop.ledger)
    assert CANARY not in repr([await shop.show(f"evt_{kind}") for kind in ("good", "bad", "later")])
    assert CANARY not in repr(await shop.ledger.list(limit=9))
    assert {each.is_clean for each in await shop.inbox.erasures()} == {True}


@pytest.mark.parametrize("restored", ["inbox", "ledger"])
async def test_a_restored_database_is_erased_again_by_the_others_list(tmp_path: Path, restored: str) -> None:
    shop = Shop("sqlite", str(tmp_path), masters=[MASTER])
    await shop.open()
    await fill(shop, CANARY)
    await shop.close()
    backup = shutil.copy(tmp_path / f"{restored}.db", tmp_path / "backup")
    await shop.open(create=False)
    await _all(shop)
    await shop.close()
    shutil.copy(backup, tmp_path / f"{restored}.db")
    await shop.open(create=False)
    told = repr([await shop.show("evt_bad"), *await shop.ledger.list(limit=9)])
    assert CANARY in told
    assert await erase_again(shop.inbox, shop.ledger, shop.inbox_id) == 3
    told = repr([await shop.show("evt_bad"), *await shop.ledger.list(limit=9)])
    assert CANARY not in told
    assert await erase_again(shop.inbox, shop.ledger, shop.inbox_id) == 0
    await shop.close()


async def test_a_ledger_that_was_restored_is_scrubbed_although_the_inbox_is_clean(tmp_path: Path) -> None:
    shop, canary = Shop("sqlite", str(tmp_path)), secrets.token_hex(16)
    await shop.open()
    await fill(shop, canary)
    await shop.close()
    backup = (tmp_path / "ledger.db").read_bytes()
    await shop.open(create=False)
    await _all(shop)
    assert await scrub(shop.inbox, shop.ledger)
    await shop.close()
    (tmp_path / "ledger.db").write_bytes(backup)
    await shop.open(create=False)
    assert await erase_again(shop.inbox, shop.ledger, shop.inbox_id) == 3
    assert await scrub(shop.inbox, shop.ledger)
    assert files_with(tmp_path, canary.encode()) == []
    await shop.close()


async def test_what_a_zombie_committed_after_an_erasure_is_erased_by_the_next(shop: Shop) -> None:
    """It lost its lease, another tried the event in vain, the event was erased; and then it commits."""
    await deliver(shop, "good", CANARY)
    (event,) = await shop.inbox.find(Filter(entity="cus_9"), limit=9)
    key = ReceiptKey(receipt_digest(shop.inbox_id, event.source, event.key), HandlerName("good"), 1)
    transaction = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
    assert await transaction.reserve([key]) == [None]
    if shop.store == "postgres":  # in SQLite the erasure waits for it
        await _all(shop)
    await transaction.commit(results=[(key, CANARY.encode())], effects=())
    await _all(shop)
    assert await erase_again(shop.inbox, shop.ledger, shop.inbox_id, is_thorough=True) == 0
    assert CANARY not in repr(await shop.ledger.receipts([key.digest]))


async def test_pages_that_became_free_before_an_erasure_hold_nothing_either(tmp_path: Path) -> None:
    """A long text fills pages of its own. It was deleted when the event was done, and so no erasure finds it."""
    shop, canary, tried = Shop("sqlite", str(tmp_path)), secrets.token_hex(16), set[str]()
    long = f"{canary} " * 100

    def fail_once(name: str) -> None:
        if name not in tried:
            tried.add(name)
            raise ValueError(long)

    async def mail(effect: Any) -> None:
        fail_once(effect.key)

    async def flaky(event: Any, tx: Any) -> None:
        fail_once(event.key)
        tx.stage(mail)

    shop.effect(mail)
    shop.on("*", name="flaky")(flaky)
    await shop.open()
    events = [await deliver(shop, f"flaky_{number}", "a name") for number in range(5)]
    await shop.drain()
    _checkpoint(tmp_path)
    await shop.settle_down()
    _checkpoint(tmp_path)
    await shop.advance(4000)
    await shop.drain()
    assert (await _all(shop)).erased == len(events)
    assert await scrub(shop.inbox, shop.ledger)
    assert files_with(tmp_path, canary.encode()) == []
    await shop.close()


def _checkpoint(folder: Path) -> None:
    """What was committed stands in the files themselves now, and not in their logs."""
    for name in ("inbox.db", "ledger.db"):
        with closing(sqlite3.connect(folder / name)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def test_an_open_reader_keeps_the_bytes_and_is_told_of(
    postgres_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_erase, "WATCHED_FOR_SECONDS", 0.0)
    monkeypatch.setattr(ledger_module, "WATCHED_LOOKS", 1)
    shop = postgres_shop
    await fill(shop, CANARY)
    reader = await asyncpg.connect(shop.place)
    await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await reader.fetch("SELECT * FROM landfast.identity")
    await _all(shop)
    assert not await scrub(shop.inbox, shop.ledger)
    await reader.close()
    assert await scrub(shop.inbox, shop.ledger)


class TestCommand:
    def test_it_erases_and_says_so_everywhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("store", "ledger"):
            monkeypatch.setenv(f"LANDFAST_{name.upper()}", f"sqlite:{'inbox' if name == 'store' else 'ledger'}.db")
        asyncio.run(_filled(tmp_path))
        assert main(["erase", "entity:cus_9", "--dry-run"]) == 0
        assert main(["erase", "entity:cus_9"]) == 2
        assert "3 events match; add --yes" in capsys.readouterr().err
        assert main(["erase", "evt_bad", "--yes"]) == 0
        assert main(["erase", "entity:cus_9", "--yes", "--json"]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["erased"] == 2
        assert main(["events", "show", "evt_bad"]) == 0
        assert "(erased at " in capsys.readouterr().out
        assert main(["events", "list"]) == 0
        listed = capsys.readouterr().out
        assert listed.count(ERASED) == 3
        assert CANARY not in listed
        assert main(["replay", "evt_bad"]) == 2
        assert "replay: this event was erased at " in capsys.readouterr().err
        assert main(["erase", "--again"]) == 0
        assert main(["erase", "never_sent", "--yes"]) == 1
        assert main(["proof"]) == 0

    def test_it_wants_to_know_what(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["erase"]) == 2
        assert "give an event or a filter, or --again" in capsys.readouterr().err


async def _filled(folder: Path) -> None:
    shop = Shop("sqlite", str(folder))
    await shop.open()
    await bind(shop.inbox, shop.ledger, load())
    await fill(shop, CANARY)
    await shop.close()

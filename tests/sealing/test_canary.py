"""With a seal, no file shows what an event brought. After an erasure no file shows it without one either."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.recovery.erase import erase, scrub
from tests.processing.shop import STORES, Shop
from tests.sealing.scenes import MASTER, files_with, fill
from tests.servers import Postgres


class Vault:
    """A shop, and the folder that all of its databases' files are in."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        self.shop = shop
        self._folder = folder

    async def dump(self) -> bytes:
        """Every row of every table, as the live system shows it."""
        if self.shop.store == "postgres":
            listed = "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            tables = await self.shop.sql(f"{listed} WHERE n.nspname IN ('landfast', 'public') AND c.relkind = 'r'")
            rows = [await self.shop.sql(f"SELECT t::text FROM {table} AS t") for (table,) in tables]
            return "\n".join(row[0] for each in rows for row in each).encode()
        return b"".join(file.read_bytes() for file in self._folder.iterdir())

    async def files_with(self, *needles: bytes, leave_out: str = "none") -> list[str]:
        if self.shop.store == "postgres":
            await self.shop.sql("CHECKPOINT")
        return files_with(self._folder, *needles, leave_out=leave_out)


@pytest.fixture(params=STORES)
async def vault(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Vault]:
    if request.param == "sqlite":
        folder = tmp_path / "files"
        folder.mkdir()
        shop = Shop("sqlite", str(folder))
    else:
        server: Postgres = request.getfixturevalue("postgres")
        shop, folder = Shop("postgres", request.getfixturevalue("database")), server.folder
    yield Vault(shop, folder)
    await shop.close()


async def test_a_copy_of_every_file_shows_nothing_of_a_sealed_event(vault: Vault) -> None:
    canary = secrets.token_hex(16)
    vault.shop.masters = [MASTER]
    await vault.shop.open()
    await fill(vault.shop, canary)
    assert await vault.files_with(canary.encode()) == []
    shown = await vault.shop.show("evt_bad")
    assert (shown.summary.state, canary in shown.summary.message) == (State.DEAD, True)
    assert canary in shown.history[-1].attempts[0].trace
    (effect,) = await vault.shop.ledger.list(limit=9)
    assert canary.encode() in effect["arguments"]
    assert canary in effect["message"]


async def test_without_a_seal_every_kind_of_file_shows_it(vault: Vault) -> None:
    """What the test above would see."""
    canary = secrets.token_hex(16)
    await vault.shop.open()
    await fill(vault.shop, canary)
    assert len(await vault.files_with(canary.encode())) >= 2


@pytest.mark.parametrize("masters", [[], [MASTER]], ids=["plain", "sealed"])
async def test_after_an_erasure_no_table_shows_it_to_anybody(vault: Vault, masters: list[bytes]) -> None:
    canary, shop = secrets.token_hex(16), vault.shop
    shop.masters = masters
    await shop.open()
    events = await fill(shop, canary)
    keys = await _key_bytes(shop)
    report = await erase(shop.inbox, shop.ledger, shop.inbox_id, Filter(entity="cus_9"), who="ada")
    assert (report.erased, report.in_hand) == (len(events), 0)
    assert await scrub(shop.inbox, shop.ledger)
    # PostgreSQL leaves what VACUUM freed on its page until something else is written there; keys are written over.
    needles = keys if shop.store == "postgres" else [canary.encode(), *keys]
    assert not needles or await vault.files_with(*needles, leave_out="pg_wal") == []
    for needle in (canary.encode(), canary.encode().hex().encode(), *(key.hex().encode() for key in keys)):
        assert needle not in await vault.dump()
    for key in ("evt_good", "evt_bad", "evt_later"):
        assert canary not in repr(await shop.show(key))
    assert canary not in repr(await shop.ledger.list(limit=9))
    assert await shop.states() == {State.DONE: 1, State.DEAD: 2}


async def _key_bytes(shop: Shop) -> list[bytes]:
    """The wrapped data keys, as they lie in the inbox."""
    if not shop.masters:
        return []
    if shop.store == "sqlite":
        from tests.inboxes.sqlite_bench import by_hand

        found = [row[0] for row in by_hand(Path(shop.place) / "inbox.db", "SELECT wrapped FROM data_key")]
    else:
        found = [row[0] for row in await shop.sql("SELECT data_key FROM landfast.identity")]
    assert len(found) == 3
    return [bytes(key) for key in found]

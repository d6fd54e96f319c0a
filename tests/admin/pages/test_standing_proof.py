"""No page waits for the proof: it says how far it is, and what the last one said stands until the next one is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from landfast.admin.pages.standing_proof import REST_FACTOR, StandingProof
from landfast.recovery import audit
from tests.admin.conftest import HERE, Admin, serving, shop
from tests.admin.pages.storefront import Storefront
from tests.patience import PATIENCE_SECONDS

HTML = {"accept": "text/html"}


@pytest.fixture
async def blocked(migrated_database: str) -> AsyncIterator[tuple[Admin, asyncpg.Connection[Any]]]:
    """On PostgreSQL, beside a transaction that keeps everybody from counting effects: the proof waits for it."""
    inbox = shop(store=migrated_database, ledger=migrated_database)
    await inbox.migrate()
    other = await asyncpg.connect(migrated_database)
    try:
        async with serving(inbox) as admin:
            await other.execute("BEGIN; LOCK TABLE landfast_ledger.effect IN ACCESS EXCLUSIVE MODE")
            yield admin, other
    finally:
        await other.close()


async def _until(admin: Admin, path: str, words: str) -> str:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while words not in (text := (await admin.get(path, accept="text/html")).text):
            await asyncio.sleep(0.01)
    return text


async def test_the_page_comes_first_and_its_proof_fills_in(blocked: tuple[Admin, asyncpg.Connection[Any]]) -> None:
    admin, other = blocked
    async with asyncio.timeout(PATIENCE_SECONDS):
        for path in ("/", "/proof"):
            page = await admin.get(path, accept="text/html")
            assert page.status_code == 200
            assert "eing worked out" in page.text and "adds up" not in page.text
        as_json = (await admin.get("/overview.json")).json()["proof"]
    assert as_json == {"walked": 0, "of": 0, "is_being_worked_out": True}
    await other.execute("COMMIT")
    for path in ("/", "/proof"):
        assert "eing worked out" not in await _until(admin, path, "adds up")


async def test_the_last_proof_stands_while_the_next_one_is_worked_out(
    blocked: tuple[Admin, asyncpg.Connection[Any]],
) -> None:
    admin, other = blocked
    standing = StandingProof(admin.desk)
    await other.execute("COMMIT")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (first := await standing.get(0.0)).value is None:
            await asyncio.sleep(0.01)
    await other.execute("BEGIN; LOCK TABLE landfast_ledger.effect IN ACCESS EXCLUSIVE MODE")
    standing._worked = 0.0
    assert (await standing.get(0.0)).value is first.value
    assert standing._working is not None
    await other.execute("COMMIT")
    await asyncio.wait_for(asyncio.shield(standing._working), PATIENCE_SECONDS)
    assert (await standing.get(60.0)).value.at > first.value.at


async def test_a_proof_that_failed_says_so_and_the_next_page_tries_again(
    blocked: tuple[Admin, asyncpg.Connection[Any]],
) -> None:
    admin, other = blocked
    await other.execute("COMMIT; ALTER TABLE landfast_ledger.effect RENAME TO mislaid")
    text = await _until(admin, "/", "Proof: the question failed")
    assert "adds up" not in text
    await other.execute("ALTER TABLE landfast_ledger.mislaid RENAME TO effect")
    await _until(admin, "/", "adds up")


async def test_a_long_walk_rests_and_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "LINES_AT_ONCE", 2)
    front = Storefront(tmp_path)
    async with front.stocked():
        for number in range(5):
            await front.payment(number)
        await front.drain()
        rests: asyncio.Queue[float] = asyncio.Queue()
        may_go_on = asyncio.Semaphore(0)

        async def rest(seconds: float) -> None:
            rests.put_nowait(seconds)
            await may_go_on.acquire()

        monkeypatch.setattr(front.clock, "sleep", rest)
        async with serving(front.shop.inbox) as admin, asyncio.timeout(PATIENCE_SECONDS):
            while "of 5 lines of history" not in (text := (await admin.get("/", accept="text/html")).text):
                await asyncio.sleep(0.01)
            assert "2 of 5 lines of history are looked up" in text
            assert await rests.get() > 0
            may_go_on.release()
            await rests.get()
            await _until(admin, "/", "4 of 5 lines of history are looked up")
            may_go_on.release()
            await _until(admin, "/", "adds up")


async def test_a_proof_that_took_long_is_believed_for_longer(admin: Admin) -> None:
    standing = StandingProof(admin.desk)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await standing.get(20.0)).value is None:
            await asyncio.sleep(0.01)
    assert admin.clock is not None
    standing._worked = 3.0
    admin.clock.advance(3.0 * REST_FACTOR - 1)
    standing.begin(20.0)
    assert standing._working is None
    admin.clock.advance(2)
    standing.begin(20.0)
    assert standing._working is not None


async def test_whoever_may_not_look_starts_no_proof(admin: Admin) -> None:
    from landfast.domain.access import Role

    await admin.token(Role.VIEWER)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(admin.app), base_url=HERE) as stranger:
        answer = await stranger.get("/", headers=HTML)
    assert answer.status_code == 303
    assert not admin.desk._tasks

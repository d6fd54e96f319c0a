"""What operators see of endpoints: what callers are told, and how they prove themselves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from landfast.app.loading import load
from landfast.testing.calling import call_request
from landfast.testing.requests import answer_of
from landfast.testing.sender_secrets import Pair
from tests.cli.conftest import Run

pytestmark = pytest.mark.req("R14")

SECRET = "a secret that callers and endpoint share"
SHOP = f"""
from landfast import Inbox, Response

inbox = Inbox()

@inbox.endpoint("/internal/provision", secrets=["{SECRET}"], wait=0, failed="run_again")
async def provision(event, tx):
    await tx.execute("CREATE TABLE IF NOT EXISTS accounts (plan TEXT)")
    return Response(201, body={{"account": 7, "password": "hunter2"}}, headers={{"X-Plan": "team"}})

@inbox.endpoint("/internal/flush", provider="loopback", writes=False)
async def flush(event, tx): ...

@inbox.endpoint("/internal/hook", provider="github", secrets=["{SECRET} 2"], writes=False)
async def hook(event, tx): ...
"""


@pytest.fixture
def shop(folder: Path) -> None:
    (folder / "shop.py").write_text(SHOP)


def test_an_event_of_an_endpoint_is_shown_with_the_answer_that_its_callers_get(landfast: Run, shop: None) -> None:
    asyncio.run(_call())
    ended = landfast("events", "show", "provision/k-1", "--app", "shop:inbox")
    assert "receipt  provision run 1: done" in ended.out, ended.err
    assert 'answer   201  {"account":7,"password":"' in ended.out and "x-plan: team" in ended.out
    assert "hunter2" not in ended.out
    told = landfast("events", "show", "provision/k-1", "--app", "shop:inbox", "--json").json["receipts"][0]["result"]
    assert told["response"]["status"] == 201 and told["response"]["body"]["account"] == 7
    shown = landfast("events", "show", "provision/k-1", "--app", "shop:inbox", "--json", "--reveal")
    assert shown.json["receipts"][0]["result"]["response"]["body"]["password"] == "hunter2"


def test_endpoints_are_listed_with_their_paths_and_checked(landfast: Run, shop: None) -> None:
    listed = {
        each["name"]: each for each in landfast("sources", "list", "--app", "shop:inbox", "--json").json["sources"]
    }
    provision = listed["provision"]
    assert (provision["kind"], provision["path"]) == ("endpoint", "/internal/provision")
    assert (provision["wait_seconds"], provision["failed"]) == (0, "run_again")
    assert (
        listed["flush"]["secrets"] == [] and "/internal/flush" in landfast("sources", "list", "--app", "shop:inbox").out
    )
    checked = landfast("sources", "check", "--app", "shop:inbox", "--json").json["checks"]
    told = {(each["name"], each["level"], each["found"]) for each in checked}
    assert any(name == "source flush" and "asks for no proof" in found for name, _, found in told), told
    assert any(name == "source hook" and "does not sign Idempotency-Key" in found for name, _, found in told), told
    assert not any(name == "source provision" and level == "warn" for name, level, _ in told), told


async def _call() -> None:
    inbox = load("shop:inbox")
    await inbox.migrate()
    settings, pair = inbox.sources["provision"], Pair((SECRET,), SECRET)
    async with inbox.intake() as intake:
        request = call_request(settings, pair, now=inbox.clock.now(), body={"plan": "team"}, key="k-1")
        assert (await answer_of(intake, request)).status == 202
    async with inbox.worker() as worker:
        await worker.drain()

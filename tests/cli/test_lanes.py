"""`landfast lanes`: which entities wait, for what, and have one go on."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.domain.operator_log import Action
from landfast.testing.conformance.inbox.lane_bench import of_lane
from tests.cli.conftest import Run

pytestmark = pytest.mark.req("R29")

APP = """
from pathlib import Path
from landfast import GiveUp, Inbox

inbox = Inbox()
inbox.source("shop", provider="stripe", secrets=["whsec_x"], allow_short_secret=True)

@inbox.on("shop", "*", ordered=True, writes=False)
async def sync(event, tx):
    if event.key.endswith(":1") and not Path("fixed").exists():
        raise GiveUp("no such customer")
"""


@pytest.fixture
def app(folder: Path) -> Inbox:
    (folder / "shop.py").write_text(APP)
    (folder / "landfast.toml").write_text('app = "shop:inbox"\n')
    sys.path.insert(0, str(folder))
    inbox: Inbox = importlib.import_module("shop").inbox
    return inbox


async def _blocked(inbox: Inbox) -> None:
    await inbox.migrate()
    async with inbox.archive() as archive:
        await archive.record(of_lane(1, 2, 3))
        await archive.record(of_lane(2, entity="cus_2"))
    await _drain(inbox)


async def _drain(inbox: Inbox) -> None:
    async with inbox.worker() as worker:
        await worker.drain()


def test_a_blocked_lane_is_named_by_status_and_doctor(app: Inbox, landfast: Run) -> None:
    asyncio.run(_blocked(app))
    blocked = landfast("status", "--json").json["lanes_blocked"]
    assert (blocked["count"], blocked["or_more"], blocked["queued"], blocked["handlers"]) == (1, False, 2, ["sync"])
    assert blocked["oldest"] is not None
    assert "lanes blocked by a dead letter\t1, 2 events queued" in landfast("status").out
    (check,) = [one for one in landfast("doctor", "--json").json["checks"] if one["name"] == "lanes"]
    assert check["level"] == "warn"
    assert check["found"].startswith("1 entity waits behind a dead letter of sync, the first since ")
    assert "landfast lanes list" in check["fix"]
    (Path.cwd() / "fixed").touch()
    assert landfast("replay", "state:dead", "--yes").code == 0
    asyncio.run(_drain(app))
    assert landfast("status", "--json").json["lanes_blocked"]["count"] == 0
    (check,) = [one for one in landfast("doctor", "--json").json["checks"] if one["name"] == "lanes"]
    assert (check["level"], check["found"]) == ("ok", "no dead letter blocks its entity")


def test_a_blocked_lane_is_listed_and_goes_on_when_it_is_told_to(app: Inbox, landfast: Run) -> None:
    asyncio.run(_blocked(app))
    listed = landfast("lanes", "list", "--json")
    (lane,) = listed.json["lanes"]
    assert listed.code == 1
    assert {name: lane[name] for name in ("source", "entity", "waiting", "state", "handler", "reason")} == {
        "source": "shop", "entity": "cus_1", "waiting": 2, "state": "dead", "handler": "sync", "reason": "gave_up",
    }  # fmt: skip
    told = landfast("lanes", "list")
    assert (told.code, "cus_1" in told.out, "landfast lanes skip EVENT" in told.out) == (1, True, True)
    shown = landfast("events", "show", "cus_1:2", "--json").json
    assert (shown["state"], shown["lane"]["behind"]) == ("queued", lane["event"])
    assert f"behind {lane['event']}" in landfast("events", "show", "cus_1:2").out
    assert landfast("events", "list", "state:queued", "--json").json["events"][0]["entity"] == "cus_1"

    assert landfast("lanes", "skip", "cus_1:2", "--json").json == {"skipped": 0, "state": "queued"}
    assert landfast("lanes", "skip", "nobody").code == 1
    assert landfast("lanes", "skip", "cus_1:1", "--why", "a test", "--json").json == {"skipped": 1, "state": "dead"}
    asyncio.run(_drain(app))
    assert landfast("lanes", "list").out == landfast("lanes").out == "no lane waits\n"
    assert landfast("lanes", "--json").json == {"lanes": []}
    assert "there is nothing to skip" in landfast("lanes", "skip", "cus_1:2").out
    assert landfast("events", "show", "cus_1:3", "--json").json["state"] == "done"
    assert Action.SKIP in landfast("audit", "list").out


def test_a_replay_that_is_late_says_so(app: Inbox, landfast: Run, folder: Path) -> None:
    asyncio.run(_blocked(app))
    landfast("lanes", "skip", "cus_1:1")
    asyncio.run(_drain(app))
    (folder / "fixed").touch()
    assert landfast("replay", "key:cus_1:1", "--yes").code == 0
    asyncio.run(_drain(app))
    assert ", late" in landfast("events", "show", "cus_1:1").out

"""`landfast pause` and `landfast resume`: the switch that is thrown at 3 a.m."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from tests.cli.conftest import Run
from tests.cli.crowd import fill
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, postgres_shop, sqlite_shop, until

SOURCE = '[sources.shop]\nprovider = "stripe"\nsecrets = ["whsec_x"]\nallow_short_secret = true\n'
APP = """
from landfast import Inbox
inbox = Inbox()

@inbox.on("shop", "*")
async def create_order(event, tx): ...

@inbox.on("shop", "*", name="shop", uses=["mailer"])
async def namesake(event, tx): ...
"""


@pytest.fixture
def app(folder: Path) -> None:
    (folder / "landfast.toml").write_text(f'app = "handlers:inbox"\n{SOURCE}')
    (folder / "handlers.py").write_text(APP)

    async def nothing(_: Any) -> None: ...

    fill(nothing)


@pytest.fixture(params=["sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    is_sqlite = request.param == "sqlite"
    shop = sqlite_shop(tmp_path) if is_sqlite else postgres_shop(tmp_path, request.getfixturevalue("database"))
    await shop.create_orders()
    shop.write(ORDER)
    return shop


def ready(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=PATIENCE_SECONDS) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


async def told(port: int, word: str) -> str | None:
    text: str | None = (await asyncio.to_thread(ready, port)).get(word)
    return text


@pytest.mark.req("R33")
async def test_a_paused_source_is_acknowledged_and_kept_and_each_event_is_processed_once_after_it(shop: Shop) -> None:
    events = [f"evt_{n:02}" for n in range(20)]
    async with shop.serving("--workers", "1") as serve:
        code, out, err = await shop.run("pause", "stripe", "--why", "the bank is down", "--app", "shop.py")
        assert code == 0, err
        assert "landfast resume stripe" in out
        await until(lambda: told(serve.port, "paused"), "1")
        before = await until_the_worker_has_heard(shop, serve)
        for event in events:
            assert await shop.send(serve, event) == 200
        await until(lambda: shop.count(State.PAUSED), 21)
        assert await shop.orders() == before
        code, out, _ = await shop.run("doctor", "--app", "shop.py")
        assert "source stripe, since" in out and "the bank is down" in out and "landfast resume stripe" in out
        assert code == 0  # somebody meant it
        assert (await asyncio.to_thread(ready, serve.port))["ready"] is True
        code, out, err = await shop.run("resume", "stripe", "--app", "shop.py", "--json")
        assert (code, json.loads(out)) == (0, {"resumed": "stripe", "kind": "source", "events": 21}), err
        await until(lambda: shop.count(State.DONE), len(before) + 21)
        await until(lambda: told(serve.port, "paused"), None)
    assert sorted(await shop.orders()) == sorted([*before, f"canary_{len(before)}", *events])


async def until_the_worker_has_heard(shop: Shop, serve: Serve) -> list[str]:
    """Send one at a time until one waits; those that were still processed."""
    for number in range(1000):
        assert await shop.send(serve, f"canary_{number}") == 200
        await until(lambda: is_settled(shop, number + 1), True)  # noqa: B023 - used up before the next
        if await shop.count(State.PAUSED):
            return await shop.orders()
    raise AssertionError("it never heard")


async def is_settled(shop: Shop, count: int) -> bool:
    return await shop.count(State.PAUSED) + await shop.count(State.DONE) == count


def test_what_is_paused_is_listed_with_who_since_and_why(landfast: Run, app: None) -> None:
    assert landfast("pause").out == "nothing is paused\n"
    assert landfast("pause", "create_order", "--why", "a fix\x1b[2J is on its way").code == 0
    assert landfast("pause", "shop", "--source", "--json").json == {"paused": "shop", "kind": "source"}
    headings, first, second = [line.split("\t") for line in landfast("pause").out.splitlines()]
    assert headings == ["kind", "name", "since", "by", "why"]
    assert (first[:2], first[4]) == (["handler", "create_order"], "a fix\\x1b[2J is on its way")
    assert second[:2] == ["source", "shop"] and second[3]
    listed = landfast("pause", "--json").json["paused"]
    assert [(one["kind"], one["name"]) for one in listed] == [("handler", "create_order"), ("source", "shop")]
    assert {"why", "who", "at"} <= set(listed[0])


def test_pausing_again_keeps_who_paused_it_and_why_unless_there_is_something_new_to_say(
    landfast: Run, app: None
) -> None:
    assert landfast("pause", "create_order", "--why", "a fix is on its way").code == 0
    (first,) = landfast("pause", "--json").json["paused"]
    again = landfast("pause", "create_order")
    assert again.code == 0 and "is paused already" in again.out and "(a fix is on its way)" in again.out
    assert landfast("pause", "--json").json["paused"] == [first]
    assert landfast("pause", "create_order", "--why", "it takes longer").code == 0
    (second,) = landfast("pause", "--json").json["paused"]
    assert second["why"] == "it takes longer"


def test_a_name_of_both_a_source_and_a_handler_is_asked_about(landfast: Run, app: None) -> None:
    for command in ("pause", "resume"):
        ended = landfast(command, "shop")
        assert ended.code == 2
        assert ended.err == (
            "landfast: shop: there is a source and a handler of this name; say which with --source or --handler\n"
        )
    assert landfast("pause", "shop", "--handler").out.startswith("paused handler shop: ")
    assert landfast("resume", "shop", "--source").code == 1
    assert landfast("resume", "shop", "--handler").code == 0
    assert landfast("pause").out == "nothing is paused\n"


def test_an_unknown_name_is_refused_with_the_nearest_known_one_and_nothing_is_paused(landfast: Run, app: None) -> None:
    ended = landfast("pause", "create_ordr")
    assert (ended.code, ended.err) == (
        2,
        "landfast: there is no source, handler or dependency 'create_ordr'; did you mean 'create_order'?\n",
    )
    ended = landfast("pause", "zebra", "--source")
    assert (ended.code, ended.err) == (2, "landfast: there is no source 'zebra'; there are shop\n")
    assert landfast("pause").out == "nothing is paused\n"


def test_without_an_app_a_handler_cannot_be_known(landfast: Run, folder: Path, app: None) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    ended = landfast("pause", "create_order")
    assert ended.code == 2
    assert "no app was given" in ended.err
    assert landfast("pause", "shop").code == 0


def test_what_was_paused_and_is_in_the_code_no_longer_is_resumed_all_the_same(
    landfast: Run, folder: Path, app: None
) -> None:
    assert landfast("pause", "create_order").code == 0
    (folder / "landfast.toml").write_text(SOURCE)
    ended = landfast("resume", "create_order")
    assert (ended.code, ended.out) == (
        0,
        "resumed handler create_order: no event had been put aside; what comes in runs again\n",
    )
    again = landfast("resume", "shop")
    assert (again.code, again.err) == (1, "landfast: source shop is not paused; see landfast pause\n")


@pytest.mark.usefixtures("app")
def test_a_pause_at_once_says_what_it_cannot_cancel(landfast: Run, folder: Path) -> None:
    handler = '\n@inbox.on("shop", "*")\ndef in_a_thread(event, tx): ...\n'
    (folder / "handlers.py").write_text(APP + handler)
    said = landfast("pause", "in_a_thread", "--now").out
    assert "paused handler in_a_thread" in said
    assert "not cancelled, because a thread cannot be, and finished instead: in_a_thread" in said
    told = landfast("pause", "--source", "shop", "--now", "--json").json
    assert told == {"paused": "shop", "kind": "source", "now": True, "not_cancelled": ["in_a_thread"]}
    assert "give back" not in said
    taken_back = landfast("pause", "create_order", "--now").out
    assert "workers give back what they have in hand within about a second" in taken_back
    assert "not cancelled" not in taken_back


def test_a_dependency_is_paused_and_resumed_by_its_name(landfast: Run, app: None) -> None:
    assert landfast("pause", "mailer", "--why", "it moves house").out.startswith("paused dependency mailer: ")
    assert landfast("pause", "--json").json["paused"][0]["kind"] == "dependency"
    assert landfast("resume", "mailer", "--dependency").out.startswith("resumed dependency mailer: no event had")
    assert landfast("pause").out == "nothing is paused\n"

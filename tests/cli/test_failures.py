"""What the person on call does about what failed: group it, look at it, try it out, replay it, put it away."""

from __future__ import annotations

import asyncio
import importlib
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from landfast import Inbox
from landfast.domain.delivery import Delivery
from landfast.testing.factory import deliveries
from tests.cli.conftest import Run

APP = """
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path
from landfast import Inbox

inbox = Inbox(ledger="shop.db")
inbox.source("shop", provider="stripe", secrets=["whsec_x"], allow_short_secret=True)

@inbox.lifespan
async def tables():
    with closing(sqlite3.connect("shop.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS orders (payment TEXT PRIMARY KEY)")
        db.execute("CREATE TABLE IF NOT EXISTS totals (name TEXT PRIMARY KEY, n INTEGER)")
        db.execute("INSERT OR IGNORE INTO totals VALUES ('orders', 0)")
        db.commit()
    yield

@inbox.effect
async def send_mail(effect, address: str, copies: int): ...

@inbox.on("shop", "order.*", attempts=1)
async def create_order(event, tx):
    await tx.execute("INSERT INTO orders VALUES ($1)", event.key)
    await tx.execute("UPDATE totals SET n = n + 1")
    if not Path("fixed").exists():
        raise KeyError(f"customer_email of {event.key}")
    if Path("nosy").exists():
        urllib.request.urlopen("http://192.0.2.1/")
    tx.stage(send_mail, address="ada@example.org", copies=2)
    return {"order": event.key}

@inbox.on("shop", "order.*")
async def note(event, tx): ...

@inbox.on("shop", "invoice.*")
def book(event, tx):
    tx.execute("DELETE FROM totals WHERE n > 1000")
    raise ValueError("not yet")
"""
LINE = next(number for number, line in enumerate(APP.splitlines(), 1) if "raise KeyError" in line)


@pytest.fixture
def app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder / "failing_shop.py").write_text(APP)
    monkeypatch.setenv("LANDFAST_APP", "failing_shop:inbox")
    monkeypatch.syspath_prepend(str(folder))
    _process([*deliveries(3, prefix="evt"), *deliveries(2, prefix="inv", type="invoice.paid")])
    return folder


def _process(events: list[Delivery]) -> None:
    """Take these in, and process what is ready, with the application of this folder."""

    async def run() -> None:
        inbox: Inbox = importlib.import_module("failing_shop").inbox
        async with inbox.worker() as worker:
            await worker._bench.record(events)
            await worker.drain()

    asyncio.run(run())


def _rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "shop.db")) as db:
        return db.execute(query).fetchall()


def test_what_fails_alike_is_one_group_with_the_command_that_replays_it(landfast: Run, app: Path) -> None:
    text = landfast("dead", "summary").out
    assert text.startswith(f"3  KeyError in create_order, failing_shop.py:{LINE}   shop, first ")
    assert "\n    'customer_email of evt_0002'\n" in text
    (group,) = landfast("dead", "summary", "--json").json["groups"]
    assert (group["count"], group["error"], group["handler"]) == (3, "KeyError", "create_order")
    expected = f"landfast replay source:shop state:dead error:KeyError handler:create_order line:failing_shop.py:{LINE}"
    assert group["command"] == expected
    (app / "fixed").touch()
    assert landfast(*shlex.split(group["command"])[1:], "--yes").out == "3 replayed\n"
    _process([])
    assert landfast("dead", "summary").out == "no dead letters\n"
    assert _rows(app, "SELECT count(*) FROM orders") == [(3,)]


def test_what_is_tried_again_is_grouped_and_tried_now(landfast: Run, app: Path) -> None:
    (group,) = landfast("dead", "summary", "--failing", "--json").json["groups"]
    assert (group["count"], group["error"], group["handler"], group["state"]) == (2, "ValueError", "book", "delayed")
    command = shlex.split(group["command"])[1:]
    assert command[0] == "retry"
    assert landfast(*command, "--preview").out == "2 would be tried now\n"
    assert "2 events match; add --yes to try them without being asked" in landfast(*command).err
    assert landfast("retry", "inv_0000").out == "1 ready, and tried next\n"
    assert landfast("retry", "inv_0000", "inv_0001").out == "1 ready, and tried next; inv_0000 is ready\n"
    assert landfast(*command, "--yes").out == "0 ready, and tried next\n"
    assert landfast("retry", "nothing").code == 1
    lines = landfast("events", "show", "inv_0000", "--json").json["history"]
    assert (lines[-1]["signal"], bool(lines[-1]["who"])) == ("hasten", True)


def test_filters_know_handlers_and_messages_and_lists_can_begin_with_the_oldest(landfast: Run, app: Path) -> None:
    def keys(*arguments: str) -> list[str]:
        return [event["key"] for event in landfast(*arguments, "--json").json["events"]]

    assert keys("dead", "list", "handler:create_order", "--oldest-first") == ["evt_0000", "evt_0001", "evt_0002"]
    assert keys("dead", "list", "message:of evt_0001") == ["evt_0001"]
    assert keys("events", "list", "message:not*yet", "--oldest-first", "--limit", "1") == ["inv_0000"]
    first = landfast("dead", "list", "--oldest-first", "--limit", "2", "--json").json
    assert keys("dead", "list", "--oldest-first", "--after", first["next"]) == ["evt_0002"]


def test_dead_letters_are_put_away_with_a_reason_that_stays(landfast: Run, app: Path) -> None:
    assert landfast("dead", "discard", "evt_0000").code == 2
    assert "say why" in landfast("dead", "discard", "evt_0000", "--why", " ").err
    why = ("--why", "a test of theirs")
    assert landfast("dead", "discard", "error:KeyError", *why, "--preview").out == "3 would be discarded\n"
    assert "add --yes" in landfast("dead", "discard", "error:KeyError", *why).err
    assert landfast("dead", "discard", "evt_0000", *why).out == "discarded\n"
    again = landfast("dead", "discard", "evt_0000", *why)
    assert (again.code, again.out) == (1, "it is done, and no dead letter\n")
    assert landfast("dead", "discard", "error:KeyError", *why, "--yes").out == "2 discarded\n"
    assert landfast("dead", "list").out == "no event matches\n"
    assert "a test of theirs" in landfast("events", "show", "evt_0001").out
    assert [event["reason"] for event in landfast("events", "list", "reason:discarded", "--json").json["events"]] == [
        "discarded"
    ] * 3
    told = [
        (each["action"], each["ended"]["what"]["count"]) for each in landfast("audit", "list", "--json").json["changes"]
    ]
    assert told == [("discard", 2), ("discard", 0), ("discard", 1)]
    proof = landfast("proof")
    assert (proof.code, proof.out.splitlines()[-1]) == (0, "lost 0   doubled 0")


@pytest.mark.req("R62")
def test_a_dry_run_shows_rows_effects_and_result_and_leaves_nothing(landfast: Run, app: Path) -> None:
    before = landfast("events", "show", "evt_0000", "--json").out
    broken = landfast("replay", "evt_0000", "--dry-run")
    assert broken.code == 0
    assert f"  create_order: failed: KeyError at failing_shop.py:{LINE}: 'customer_email of evt_0000'\n" in broken.out
    assert "  note: is done already, and would be skipped\n" in broken.out
    (app / "fixed").touch()
    told = landfast("replay", "state:dead", "--dry-run", "--sample", "2")
    assert told.out.count("create_order: would be done") == 2
    assert "    orders: 1 inserted\n    totals: 1 updated\n    effect send_mail under " in told.out
    assert ": address: text of 15 characters, copies: number\n    returns {'order': 'evt_0002'}\n" in told.out
    assert "ada@example.org" not in told.out
    assert told.out.endswith(
        "rolled back: nothing was written, no effect performed, no attempt counted\n3 would be replayed\n"
    )
    assert landfast("events", "show", "evt_0000", "--json").out == before
    assert _rows(app, "SELECT (SELECT count(*) FROM orders), n FROM totals") == [(0, 0)]
    assert _rows(app, "SELECT count(*) FROM landfast_effect") == [(0,)]
    assert landfast("replay", "state:dead", "--yes").out == "3 replayed\n"
    _process([])
    assert _rows(app, "SELECT (SELECT count(*) FROM orders), n FROM totals") == [(3, 3)]


@pytest.mark.req("R62")
def test_a_dry_run_reaches_nothing_outside(landfast: Run, app: Path) -> None:
    (app / "fixed").touch()
    (app / "nosy").touch()
    (one,) = landfast("replay", "evt_0000", "--dry-run", "--handler", "create_order", "--json").json["rehearsals"]
    (told,) = one["handlers"]
    assert told["outcome"] == "failed"
    assert told["refused"][0].startswith("it connects to 192.0.2.1")


def test_one_handler_of_several_is_replayed_by_its_name(landfast: Run, app: Path) -> None:
    wrong = landfast("replay", "evt_0000", "--handler", "creat_order")
    assert (wrong.code, wrong.err) == (
        2,
        "landfast: replay: no handler is called 'creat_order'; did you mean 'create_order'?\n",
    )
    (app / "fixed").touch()
    assert landfast("replay", "evt_0000", "--handler", "create_order").out == "replayed\n"
    _process([])
    assert landfast("events", "show", "evt_0000", "--json").json["state"] == "done"

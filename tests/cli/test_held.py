"""What is held, from the request to the operator's decision: over HTTP to a real server, and by the commands."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from landfast import Inbox
from landfast.app.stores import Stores
from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from landfast.providers.signing import sign
from landfast.recovery.proof import prove
from landfast.testing.factory import deliveries, delivery
from tests.cli.conftest import Run
from tests.cli.crowd import fill
from tests.shops import SECRET, Shop, postgres_shop, sqlite_shop, until

DAY = 86_400
NOW = int(time.time())
"""The same in every body, so that what is sent again is the same bytes."""
SHOP = """
inbox.source("bank", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"], same_key="hold")

async def order(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", f"{event.source}/{event.key}")

inbox.on("bank", "*", name="of_bank")(order)
inbox.on("stripe", "*", name="of_stripe")(order)
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    on_sqlite = request.param == "sqlite"
    made = sqlite_shop(tmp_path) if on_sqlite else postgres_shop(tmp_path, request.getfixturevalue("database"))
    made.write(SHOP)
    await made.create_orders()
    return made


def body(event: str, *, amount: int = 1, days_ago: float = 0) -> bytes:
    created = int(NOW - days_ago * DAY)
    return json.dumps({"id": event, "type": "paid", "created": created, "amount": amount}).encode()


async def send(serve: Serve, content: bytes, source: str = "bank") -> tuple[str, str]:
    """What the sender is told: stored or duplicate, and the event's id."""
    headers = sign("stripe", content, SECRET, now=time.time())
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"http://127.0.0.1:{serve.port}/in/{source}", content=content, headers=headers)
    assert answer.status_code == 200
    return answer.json()["status"], answer.json()["event"]


async def command(shop: Shop, *arguments: str, code: int = 0) -> Any:
    ended, out, err = await shop.run(*arguments, "--app", "shop.py", "--json")
    assert ended == code, err
    return json.loads(out)


@pytest.mark.req("R10")
async def test_another_body_under_a_known_key_is_held_and_processed_only_when_it_is_admitted(shop: Shop) -> None:
    first, second = body("evt_1"), body("evt_1", amount=2)
    async with shop.serving() as serve:
        told = [await send(serve, content) for content in (first, second, second, first)]
        assert [status for status, _ in told] == ["stored", "stored", "duplicate", "duplicate"]
        assert told[0][1] != told[1][1]
        assert (await send(serve, first, "stripe"))[0] == "stored"  # the same id of another source never meets it
        assert (await send(serve, second, "stripe"))[0] == "duplicate"  # and that one is not strict
        await until(lambda: shop.count(State.DONE), 2)

        (held,) = (await command(shop, "held", "list"))["events"]
        assert (held["id"], held["reason"], held["source"]) == (told[1][1], "variant", "bank")
        assert held["key"].startswith("evt_1~")
        assert (await command(shop, "held", "admit", held["id"]))["admitted"] == 1
        await until(lambda: shop.count(State.DONE), 3)
        assert sorted(await shop.orders()) == ["bank/evt_1", f"bank/{held['key']}", "stripe/evt_1"]


@pytest.mark.req("R15", "R61")
async def test_what_comes_too_late_is_held_admitted_or_discarded_and_counted(shop: Shop) -> None:
    async with shop.serving() as serve:
        for number in range(3):
            assert (await send(serve, body(f"late_{number}", days_ago=36)))[0] == "stored"
        assert (await send(serve, body("evt_1", days_ago=34)))[0] == "stored"
        assert (await send(serve, body("late_0", days_ago=36)))[0] == "duplicate"
        await until(lambda: shop.count(State.DONE), 1)
        assert await shop.count(State.HELD) == 3

        events = (await command(shop, "held", "list", "source:bank"))["events"]
        assert [(event["key"], event["reason"]) for event in events] == [(f"late_{n}", "late") for n in (2, 1, 0)]
        assert (await command(shop, "held", "admit", "bank/late_0"))["admitted"] == 1
        await until(lambda: shop.count(State.DONE), 2)
        assert (await command(shop, "held", "discard", "key:late_1", "--yes"))["discarded"] == 1
        assert sorted(await shop.orders()) == ["bank/evt_1", "bank/late_0"]
        assert await serve.stop() == 0

    inbox = Inbox(shop.folder / "none.toml", store=shop.store, ledger=shop.ledger)
    async with inbox.stores() as stores:
        proof = await prove(stores.inbox, stores.ledger, clock=inbox.clock, chance=inbox.chance)
    assert proof.holds, proof
    (states,) = [dict(each.right) for each in proof.equations if each.name == "every event is in one state"]
    assert states | {"done": 2, "dead": 1, "held": 1} == states


async def three_held_one_ready(stores: Stores) -> None:
    await stores.inbox.record([delivery("ready"), *(delivery(f"held_{n}", hold="late") for n in range(3))])


def state_of(key: str) -> State:
    async def find() -> State:
        async with Inbox().archive() as archive:
            record = await archive.show(delivery(key).event_id)
            assert record is not None
            return record.summary.state

    return asyncio.run(find())


def test_held_events_are_listed_with_what_their_reason_means(landfast: Run) -> None:
    fill(three_held_one_ready)
    shown = landfast("held", "list")
    assert shown.code == 0
    assert all(f"held_{n}" in shown.out for n in range(3)) and "ready" not in shown.out
    assert "late: older than the dedup memory: it may have been processed and forgotten" in shown.out
    assert len(landfast("events", "list", "state:held", "--json").json["events"]) == 3
    assert landfast("held", "list", "key:nothing").out == "no event matches\n"


def test_one_that_is_shown_says_what_its_reason_means_and_what_to_do(landfast: Run) -> None:
    fill(three_held_one_ready)
    shown = landfast("events", "show", "held_0").out
    assert "held: older than the dedup memory: it may have been processed and forgotten\n" in shown
    name = delivery("held_0").event_id.hex()
    assert f"decide: landfast held admit {name}, or landfast held discard {name}\n" in shown
    assert "landfast held" not in landfast("events", "show", "ready").out


@pytest.mark.parametrize(("decision", "done"), [("admit", "admitted"), ("discard", "discarded")])
def test_a_decision_about_many_is_counted_and_confirmed(landfast: Run, decision: str, done: str) -> None:
    fill(three_held_one_ready)
    assert landfast("held", decision, "state:held", "--dry-run").out == f"3 would be {done}\n"
    refused = landfast("held", decision, "state:held")
    assert (refused.code, refused.out) == (2, "")
    assert f"3 events match; add --yes to {decision} them" in refused.err
    assert state_of("held_0") is State.HELD
    assert landfast("held", decision, "key:held_0", "--yes").out == f"1 {done}\n"
    assert landfast("held", decision, "source:shop", "--yes", "--json").json == {done: 2}
    assert landfast("held", decision, "source:shop", "--yes").out == f"0 {done}\n"
    assert state_of("held_0") is (State.READY if decision == "admit" else State.DEAD)
    assert state_of("ready") is State.READY


def test_one_event_is_decided_about_by_its_name_without_being_asked(landfast: Run) -> None:
    fill(three_held_one_ready)
    assert landfast("held", "admit", "held_0", "--dry-run").out == "it is held; 1 would be admitted\n"
    assert landfast("held", "admit", "shop/held_0").out == "admitted\n"
    again = landfast("held", "discard", "held_0")
    assert (again.code, again.out) == (1, "it is ready, not held\n")
    assert landfast("held", "discard", delivery("held_1").event_id.hex()[:8]).out == "discarded\n"
    assert "discarded" in landfast("dead", "show", "held_1").out
    unknown = landfast("held", "admit", "nothing")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no event 'nothing'; see landfast held list" in unknown.err


def test_one_that_waits_is_held_by_hand(landfast: Run) -> None:
    fill(three_held_one_ready)
    refused = landfast("held", "add", "ready", "--why", " ")
    assert (refused.code, "hold: say why (--why)" in refused.err) == (2, True)
    assert landfast("held", "add", "ready", "--why", "ask the shop").out.startswith("held; decide with")
    assert state_of("ready") is State.HELD
    again = landfast("held", "add", "ready", "--why", "ask the shop", "--json")
    assert (again.code, again.json) == (1, {"held": 0, "state": "held"})
    assert "ask the shop" in landfast("events", "show", "ready").out
    assert landfast("held", "add", "nothing", "--why", "x").code == 1
    assert landfast("held", "admit", "ready").out == "admitted\n"


def test_another_state_is_refused(landfast: Run) -> None:
    for arguments in (("list", "state:dead"), ("admit", "state:dead", "--yes")):
        ended = landfast("held", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert "state:dead are not held; leave state out" in ended.err


def test_many_are_decided_about_in_pieces(landfast: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from landfast.recovery import held

    monkeypatch.setattr(held, "HELD_CHUNK_EVENTS", 3)

    async def ten(stores: Stores) -> None:
        await stores.inbox.record(
            [delivery(what.key, received_at=what.received_at, hold="late") for what in deliveries(10)]
        )

    fill(ten)
    assert landfast("held", "admit", "state:held", "--yes").out == "10 admitted\n"

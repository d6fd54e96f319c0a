"""`landfast lifecycle show` and `state`."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from landfast.app import load
from landfast.app.stores import Stores
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.lane import lane_of
from landfast.domain.lane_memory import LaneState, StateKey
from tests.cli.conftest import Run
from tests.cli.crowd import fill

APP = """
from landfast import Inbox
inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["whsec_" + "a" * 32])
inbox.lifecycle(
    "order", states=["paid", "<b>&", "late"], state_of={"pay.*": "paid", "refund": "<b>&", "late": "late"},
    transitions={"absent": "paid", "paid": ["<b>&", "late", "paid"], "late": ["paid", "late"]}, deadline=90.0,
)

@inbox.on("stripe", "*", lifecycle="order")
async def handle(event, tx): ...
"""


@pytest.fixture
def app(folder: Path) -> list[str]:
    (folder / "shop.py").write_text(APP)
    return ["--app", "shop.py"]


@pytest.mark.req("R28")
def test_a_lifecycle_is_shown_as_it_is_declared(landfast: Run, app: list[str]) -> None:
    assert landfast("lifecycle", "show", "order", *app).out.splitlines() == [
        "lifecycle order: an event that is not legal waits 90 s, then it becomes a dead letter",
        "  absent -> paid    pay.*",
        "  paid   -> paid    pay.*",
        "  paid   -> <b>&    refund",
        "  paid   -> late    late",
        "  <b>&    (last)",
        "  late   -> paid    pay.*",
        "  late   -> late    late",
    ]
    told = landfast("lifecycle", "show", "order", *app, "--json").json
    assert (told["transitions"]["late"], told["deadline"], told["on_deadline"]) == (["paid", "late"], 90.0, "dead")


def test_a_drawing_stands_alone_and_escapes_what_users_call_their_states(
    landfast: Run, app: list[str], folder: Path
) -> None:
    assert landfast("lifecycle", "show", "order", "--svg", "order.svg", *app).code == 0
    drawing = ET.fromstring((folder / "order.svg").read_text())
    texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    *boxes, drawn_from = texts
    assert boxes == ["absent", "paid", "pay.*", "<b>&", "refund", "late", "late"], "each state, and what leads there"
    assert drawn_from is not None and drawn_from.startswith("drawn from the declaration of lifecycle order")
    assert len(drawing.findall("{http://www.w3.org/2000/svg}path")) == 6
    assert "prefers-color-scheme:dark" in (folder / "order.svg").read_text()


def test_a_lifecycle_that_is_not_there_is_one_sentence(landfast: Run, app: list[str]) -> None:
    ended = landfast("lifecycle", "show", "ordr", *app)
    assert (ended.code, "there is no lifecycle 'ordr'; did you mean 'order'" in ended.err) == (2, True)
    assert "no app was given" in landfast("lifecycle", "show", "order").err


def test_the_state_of_an_entity_is_told(landfast: Run, app: list[str]) -> None:
    async def paid(stores: Stores) -> None:
        key = StateKey(lane_of(stores.identity, "stripe", "pi_1"), "order")
        tx = await stores.ledger.begin(deadline=1.0)
        await tx.lock_states([key])
        await tx.move_states([LaneState(*key, "paid", is_last=False)])
        await tx.commit(results=(), effects=())

    fill(paid)
    assert landfast("lifecycle", "state", "pi_1", *app).out.splitlines()[1].split("\t") == [
        *("stripe", "order", "paid", "0"),
    ]
    nothing = landfast("lifecycle", "state", "pi_2", *app)
    assert (nothing.code, nothing.out) == (1, "no lifecycle has seen 'pi_2'\n")
    expected = {"states": [{"source": "stripe", "lifecycle": "order", "state": "paid", "waiting": 0}]}
    assert landfast("lifecycle", "state", "pi_1", *app, "--json").json == expected


def test_what_waits_is_told_in_words_and_an_entity_that_is_only_waited_for_is_known(
    landfast: Run, app: list[str]
) -> None:
    body = json.dumps({"id": "evt_1", "type": "refund", "created": 1_700_000_000, "data": {"object": {"id": "pi_9"}}})

    async def refunded(stores: Stores) -> None:
        identity = Identity("evt_1", "refund", entity="pi_9")
        now = datetime.now(UTC)
        await stores.inbox.record([Delivery.of("stripe", identity, received_at=now, headers=b"[]", body=body.encode())])

    fill(refunded)
    asyncio.run(_drain())
    (event,) = landfast("events", "list", "state:parked", "--json").json["events"]
    assert (event["reason"], event["due_at"]) == ("lifecycle:order", None)
    waits = "refund is not legal from 'absent' in lifecycle order; waits for pay.*"
    assert waits in landfast("events", "list").out
    shown = landfast("events", "show", "evt_1", *app).out
    assert f"parked: {waits}; it is tried as soon as its entity moves, and becomes a dead letter in" in shown
    assert "park -> parked (lifecycle:order)" in shown
    told = landfast("lifecycle", "state", "pi_9", *app, "--json")
    expected = {"states": [{"source": "stripe", "lifecycle": "order", "state": "absent", "waiting": 1}]}
    assert (told.code, told.json) == (0, expected)


async def _drain() -> None:
    async with load("shop.py").worker() as worker:
        await worker.drain()

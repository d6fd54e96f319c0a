"""`landfast unhandled`, and what the other commands say about events without a handler."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast.app.stores import Stores
from landfast.domain.lifecycle import Signal, State
from landfast.testing.factory import delivery, event_in, settlement
from tests.cli.conftest import Run
from tests.cli.crowd import fill

SOURCE = '[sources.shop]\nprovider = "stripe"\nsecrets = ["whsec_x"]\nallow_short_secret = true\nignore = ["ping"]\n'


async def four_unhandled(stores: Stores) -> None:
    for number, (source, kind) in enumerate(
        [("shop", "invoice.paid"), ("shop", "invoice.paid"), ("shop", "ping"), ("gone", "x")]
    ):
        what = delivery(f"evt_{number}", source=source, type=kind)
        await event_in(stores.inbox, State.UNHANDLED, what, number=number)
    dismissed = await event_in(stores.inbox, State.CLAIMED, delivery("evt_9", type="ping"), number=9)
    await stores.inbox.settle([settlement(dismissed, Signal.DISMISS, reason="ignored")])


@pytest.fixture
def crowd(folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    (folder / "landfast.toml").chmod(0o600)  # it holds a secret
    fill(four_unhandled)


def test_unhandled_events_are_counted_by_source_and_type_most_first(landfast: Run, crowd: None) -> None:
    ended = landfast("unhandled")
    assert [line.split("\t") for line in ended.out.splitlines()[:4]] == [
        ["events", "source", "type", "then"],
        ["2", "shop", "invoice.paid", "waits"],
        ["1", "gone", "x", "waits; there is no such source any more"],
        ["1", "shop", "ping", "done, ignored"],
    ]
    assert 'unhandled = "done"' in ended.out
    assert landfast("unhandled", "--json").json["unhandled"][0] == {
        "source": "shop",
        "type": "invoice.paid",
        "count": 2,
    }


def test_the_doctor_names_a_handler_that_ignore_switches_off(landfast: Run, folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE.replace("ping", "charge.*"))
    (folder / "shop.py").write_text(
        "from landfast import Inbox\ninbox = Inbox()\n"
        "@inbox.on('shop', 'charge.refunded')\nasync def refund(event, tx): ...\n"
    )
    assert landfast("migrate").code == 0
    told = "warn  handler refund: source shop has ignore = ['charge.*'], so it never runs for 'charge.refunded'\n"
    assert told in landfast("doctor", "--app", "shop.py").out


def test_an_empty_shelf_is_one_sentence(landfast: Run, folder: Path) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    (folder / "landfast.toml").chmod(0o600)  # it holds a secret
    assert landfast("migrate").code == 0
    assert landfast("unhandled").out == "nothing is unhandled\n"


def test_what_is_done_without_a_handler_is_shown_as_such(landfast: Run, crowd: None) -> None:
    listed = landfast("events", "list", "state:done", "--json").json["events"]
    assert [(event["key"], event["reason"]) for event in listed] == [("evt_9", "ignored")]
    assert "dismiss -> done (ignored)" in landfast("events", "show", "evt_9").out


def test_the_doctor_names_the_types_and_what_to_do(landfast: Run, crowd: None) -> None:
    checks = {check["name"]: check for check in landfast("doctor", "--json").json["checks"]}
    assert checks["unhandled events"]["found"] == "4: shop invoice.paid 2, gone x 1, shop ping 1"
    assert "landfast unhandled" in checks["unhandled events"]["fix"]

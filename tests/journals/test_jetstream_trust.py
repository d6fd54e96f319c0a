"""Whoever can publish to the broker, and does not know the inbox's MAC key, brings nothing in and keeps nothing out."""

from __future__ import annotations

import re
from base64 import b64decode

import msgspec
import pytest

from landfast import config
from landfast.app.broker import examine_journal
from landfast.journals.jetstream_mac import HEADER, MessageMac
from landfast.recovery.doctor import Level
from landfast.testing.factory import deliveries, delivery
from tests.journals.jetstream_bench import MAC_KEY, Bench, until

FORGED = msgspec.msgpack.encode([delivery("evt_forged")])
LIMIT = 1024 * 1024
"""Bytes of a message that the server takes."""


@pytest.mark.req("R53")
@pytest.mark.parametrize(
    "headers",
    [
        None,
        {HEADER: ""},
        {HEADER: "\u00e9" * 32},
        MessageMac(bytes(32)).headers("3", FORGED),
        MessageMac(MAC_KEY).headers("4", FORGED),
        MessageMac(MAC_KEY).headers("3", FORGED[:-1]),
    ],
    ids=["no MAC", "an empty one", "no hexadecimal", "of another inbox", "of another lane", "of another body"],
)
async def test_a_message_that_no_intake_wrote_is_set_aside_and_told(
    bench: Bench, caplog: pytest.LogCaptureFixture, headers: dict[str, str] | None
) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    for _ in range(3):
        await bench.publish(FORGED, lane="3", headers=headers)
    await journal.record(deliveries(2))
    await _drain(bench, backlog, left=3)
    assert bench.elsewhere.keys == ["evt_0000", "evt_0001"]
    assert backlog.foreign == 3
    assert caplog.text.count("journal_messages_foreign") == 1, "told, and thinned out"
    kept = await bench.api(f"STREAM.MSG.GET.{bench.name}", {"last_by_subj": f"landfast.{bench.name}.foreign"})
    assert b64decode(kept["message"]["data"]) == FORGED
    told = await examine_journal(config.load(environ={"LANDFAST_JOURNAL": bench.target}))
    assert [check.level for check in told if check.name == "journal foreign"] == [Level.FAIL]


async def test_who_knows_an_event_to_come_cannot_have_it_taken_for_a_duplicate(bench: Bench) -> None:
    """The stream knows a message by its id, and says so to the intake, which tells the sender that all is stored."""
    journal, backlog = await bench.journal(), await bench.backlog()
    coming = delivery("evt_1")
    for guess in (coming.event_id.hex(), MessageMac(bytes(32)).message_id([coming])):
        await bench.publish(b"first!", lane="0", headers={"Nats-Msg-Id": guess})
    assert [row.is_new for row in await journal.record([coming])] == [True]
    await _drain(bench, backlog, left=2)
    assert bench.elsewhere.keys == ["evt_1"]


async def test_a_second_copy_of_a_real_message_changes_nothing(bench: Bench) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    await journal.record([delivery("evt_1")])
    last = (await bench.api(f"STREAM.INFO.{bench.name}"))["state"]["last_seq"]
    real = (await bench.api(f"STREAM.MSG.GET.{bench.name}", {"seq": last}))["message"]
    (mac,) = re.findall(rf"^{HEADER}: *(\S+)", b64decode(real["hdrs"]).decode(), re.MULTILINE)
    await _drain(bench, backlog, left=0)
    await bench.publish(b64decode(real["data"]), lane=real["subject"].rpartition(".")[2], headers={HEADER: mac})
    await _drain(bench, backlog, left=0)
    assert bench.elsewhere.keys == ["evt_1"] and backlog.foreign == 0


@pytest.mark.parametrize("lane", ["8", "\u00b2", "-1", "anything"])
async def test_a_message_under_a_subject_of_nobody_stops_no_drainer(bench: Bench, lane: str) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    await bench.publish(FORGED, lane=lane)
    await journal.record(deliveries(2))
    await _drain(bench, backlog, left=1)
    assert bench.elsewhere.keys == ["evt_0000", "evt_0001"]
    told = await examine_journal(config.load(environ={"LANDFAST_JOURNAL": bench.target}))
    assert [check.level for check in told if check.name == "journal foreign"] == [Level.FAIL]


async def test_a_foreign_message_as_large_as_can_be_stops_no_drainer(bench: Bench) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    await bench.publish(bytes(LIMIT), lane="0")
    await journal.record(deliveries(2))
    await _drain(bench, backlog, left=1)
    assert bench.elsewhere.keys == ["evt_0000", "evt_0001"]


async def test_messages_of_an_older_version_are_taken_while_the_address_says_so(bench: Bench) -> None:
    told = await examine_journal(config.load(environ={"LANDFAST_JOURNAL": f"{bench.target}&foreign=take"}))
    assert [check.level for check in told] == [Level.FAIL], "void: there is a stream already"
    await bench.journal()
    backlog = await bench.backlog(target=f"{bench.target}&foreign=take")
    old = msgspec.msgpack.encode([delivery("evt_old")])
    await bench.publish(old, lane="0")
    await bench.publish(FORGED, lane="0", headers=MessageMac(bytes(32)).headers("0", FORGED))
    await _drain(bench, backlog, left=1)
    assert bench.elsewhere.keys == ["evt_old"], "a wrong MAC is none of an older version"
    told = await examine_journal(config.load(environ={"LANDFAST_JOURNAL": f"{bench.target}&foreign=take"}))
    assert (Level.WARN, "messages without a MAC are believed, whoever published them") in [
        (check.level, check.found) for check in told
    ]


async def _drain(bench: Bench, backlog: object, *, left: int) -> None:
    drainer = bench.drainer(backlog)  # type: ignore[arg-type]

    async def step() -> bool:
        await drainer.step()
        waiting = await bench.api(f"STREAM.INFO.{bench.name}", {"subjects_filter": f"landfast.{bench.name}.*"})
        lanes = [name.rpartition(".")[2] for name in waiting["state"].get("subjects") or {}]
        return not any(lane in list("01234567") for lane in lanes)

    await until(step)
    assert await bench.messages() == left

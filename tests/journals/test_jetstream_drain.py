"""Draining a stream into the inbox: redelivered, doubled, out of order, by several at once, and never twice."""

from __future__ import annotations

import asyncio
import signal
import sys
from base64 import b64decode
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import msgpack

from landfast import config
from landfast.app.broker import examine_journal
from landfast.domain.delivery import Delivery
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.filter import Filter
from landfast.journals import jetstream_link
from landfast.journals.jetstream_backlog import share
from landfast.journals.jetstream_mac import MessageMac
from landfast.recovery.doctor import Level
from landfast.testing.factory import DAWN, deliveries, delivery
from tests.journals.jetstream_bench import MAC_KEY, Bench, Elsewhere, drained, sqlite_inbox, until

KILLED_BETWEEN = """
import asyncio, os, signal, sys
from landfast.intake.durability.drain import Drainer
from landfast.journals.jetstream_backlog import JetStreamBacklog
from landfast.testing.clock import ManualClock
from tests.journals.jetstream_bench import INBOX, MAC_KEY, sqlite_inbox

async def main(target, path):
    backlog = JetStreamBacklog(target, inbox=INBOX, mac_key=MAC_KEY, offered_again_after=1.0)
    await backlog.open()
    async def die(taken):
        os.kill(os.getpid(), signal.SIGKILL)
    backlog.forget = die
    async with sqlite_inbox(path) as inbox:
        await Drainer(backlog, inbox, clock=ManualClock()).step()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.req("R53", "R55")
async def test_a_stream_is_brought_into_the_inbox_and_only_then_let_go_of(bench: Bench, tmp_path: Path) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    sent = deliveries(120)
    await journal.record(sent)
    async with sqlite_inbox(tmp_path / "inbox.db") as inbox:
        bench.elsewhere = inbox  # type: ignore[assignment]
        await drained(bench, bench.drainer(backlog))
        assert sorted(event.key for event in await inbox.find(Filter(), limit=500)) == [each.key for each in sent]
        found = await inbox.show(sent[7].event_id)
        assert found is not None and found.body == sent[7].body


@pytest.mark.req("R53")
async def test_a_drainer_acknowledges_after_the_commit_and_not_before(bench: Bench) -> None:
    """While the inbox has not answered, or refuses to, every message stays in the stream."""
    journal, backlog = await bench.journal(), await bench.backlog()
    await journal.record(deliveries(10))
    during: list[int] = []
    left: list[object] = []

    class Away(Elsewhere):
        async def record(self, batch):  # type: ignore[no-untyped-def]
            during.append(await bench.messages())
            raise InboxUnavailableError("inbox: away")

    bench.elsewhere = Away()
    drainer = bench.drainer(backlog, drained=left.append)
    assert await drainer.step() > 0
    assert during == [10] and not left
    assert await bench.messages() == 10
    bench.elsewhere = Elsewhere()
    await drained(bench, bench.drainer(backlog))
    assert len(bench.elsewhere.keys) == 10
    assert backlog.redelivered == 10  # given back, and so offered again


@pytest.mark.req("R53")
async def test_a_drainer_killed_between_commit_and_acknowledgement_doubles_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    journal = await bench.journal()
    sent = deliveries(40)
    await journal.record(sent)
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED_BETWEEN, bench.target, str(tmp_path / "inbox.db")
    )
    assert await killed.wait() == -signal.SIGKILL
    async with sqlite_inbox(tmp_path / "inbox.db") as inbox:
        assert await inbox.count(Filter(), at_most=100) == 40  # it died behind the COMMIT
        assert await bench.messages() == 40  # and before the acknowledgements
        backlog = await bench.backlog(offered_again_after=1.0)
        bench.elsewhere = inbox  # type: ignore[assignment]
        await drained(bench, bench.drainer(backlog))
        assert await inbox.count(Filter(), at_most=100) == 40
    assert backlog.redelivered == 40


@pytest.mark.req("R53")
async def test_an_acknowledgement_that_is_lost_is_made_good_and_counted_once(bench: Bench) -> None:
    journal, backlog = await bench.journal(), await bench.backlog(offered_again_after=0.2)
    await journal.record(deliveries(5))
    drainer = bench.drainer(backlog)
    say, lost = backlog._say, []

    async def deaf(word: bytes, taken: object) -> None:
        lost.append(word)

    backlog._say = deaf  # type: ignore[method-assign]
    await drainer.step()
    backlog._say = say  # type: ignore[method-assign]
    assert lost == [b"+ACK"] and await bench.messages() == 5
    await drained(bench, drainer)
    assert backlog.redelivered == 5
    assert Counter(bench.elsewhere.times).most_common(1)[0][1] == 1


@pytest.mark.req("R7", "R53")
async def test_a_duplicate_past_the_window_is_found_by_the_inbox(bench: Bench) -> None:
    await bench.make_stream(duplicate_window=100_000_000)
    journal, backlog = await bench.journal(), await bench.backlog()
    assert (await journal.record([delivery()]))[0].is_new

    async def is_forgotten() -> bool:
        return (await journal.record([delivery()]))[0].is_new

    await until(is_forgotten)
    assert await bench.messages() == 2
    await drained(bench, bench.drainer(backlog))
    assert bench.elsewhere.keys == ["evt_1"]


@pytest.mark.req("R53")
async def test_what_comes_out_of_order_keeps_its_own_times(bench: Bench, tmp_path: Path) -> None:
    """Order is the inbox's business: the stream may offer the younger one first."""
    journal, backlog = await bench.journal(), await bench.backlog()
    old, new = (
        delivery(f"evt_{n}", entity="cus_1", occurred_at=DAWN + timedelta(n), received_at=DAWN + timedelta(n))
        for n in (1, 2)
    )
    await journal.record([old])
    await journal.record([new])
    first = await backlog.take(1)
    assert first[0].deliveries == [old]
    async with sqlite_inbox(tmp_path / "inbox.db") as inbox:
        bench.elsewhere = inbox  # type: ignore[assignment]
        await bench.drainer(backlog).step()
        assert [event.key for event in await inbox.find(Filter(), limit=9)] == ["evt_2"]  # overtaken
        await backlog.give_back(first)
        await drained(bench, bench.drainer(backlog))
        found = await inbox.find(Filter(), limit=9)
        assert [(event.key, event.occurred_at) for event in found] == [
            ("evt_2", new.occurred_at),
            ("evt_1", old.occurred_at),
        ]


@pytest.mark.req("R55")
async def test_two_drainers_share_the_work(bench: Bench) -> None:
    """Each message is recorded once; the messages of a deep backlog are shared out by partition."""
    journal = await bench.journal()
    for number in range(4):
        await journal.record(deliveries(300, prefix=f"p{number}"))
    one, other = await bench.backlog(start=0), await bench.backlog(start=4)
    did: dict[str, int] = {"one": 0, "other": 0}
    drainers = [
        bench.drainer(one, drained=lambda count: did.update(one=did["one"] + count)),
        bench.drainer(other, drained=lambda count: did.update(other=did["other"] + count)),
    ]

    async def step() -> bool:
        await asyncio.gather(*[drainer.step() for drainer in drainers])
        return await bench.messages() == 0

    await until(step)
    assert Counter(bench.elsewhere.times).most_common(1)[0][1] == 1
    assert len(bench.elsewhere.rows) == did["one"] + did["other"] == 1200
    assert min(did.values()) >= 300
    assert one.redelivered == other.redelivered == 0


async def test_what_a_dead_drainer_holds_does_not_stop_the_others(bench: Bench) -> None:
    journal, dead, alive = await bench.journal(), await bench.backlog(), await bench.backlog()
    await journal.record(deliveries(600))
    held = {each.deliveries[0].key for each in await dead.take(500)}
    assert len(held) == 500

    async def step() -> bool:
        await bench.drainer(alive).step()
        return len(bench.elsewhere.rows) == 100

    await until(step)
    assert not held & set(bench.elsewhere.keys)


async def test_what_the_inbox_refuses_is_set_aside_with_its_bytes(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    await journal.record([*deliveries(20), delivery("evt_bad", body=b"poison", headers=b"[]")])
    bench.elsewhere.refuses = b"poison"
    drainer = bench.drainer(backlog)

    async def step() -> bool:
        await drainer.step()
        return len(bench.elsewhere.rows) == 20 and await bench.messages() == 1

    await until(step)
    aside = await bench.api(f"STREAM.MSG.GET.{bench.name}", {"last_by_subj": f"landfast.{bench.name}.aside"})
    assert b"poison" in b64decode(aside["message"]["data"])
    assert sum("delivery_set_aside" in record.message for record in caplog.records) == 1
    assert not await backlog.take(10) and backlog.waiting == 0
    told = await examine_journal(config.load(environ={"LANDFAST_JOURNAL": bench.target}))
    assert [(check.level, check.found) for check in told if check.name == "journal set aside"] == [
        (Level.WARN, "1 messages")
    ]


async def test_of_a_message_of_many_only_what_the_inbox_refuses_is_set_aside(bench: Bench) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    request = [delivery(f"evt_{each}", received_at=DAWN, headers=b"[]", body=b"body %d" % each) for each in range(5)]
    await journal.record(request)
    assert await bench.messages() == 1
    bench.elsewhere.refuses = b"body 3"
    drainer = bench.drainer(backlog)

    async def step() -> bool:
        await drainer.step()
        return len(bench.elsewhere.rows) == 4 and not await backlog.take(10)

    await until(step)
    assert bench.elsewhere.keys == ["evt_0", "evt_1", "evt_2", "evt_4"]
    aside = await bench.api(f"STREAM.MSG.GET.{bench.name}", {"last_by_subj": f"landfast.{bench.name}.aside"})
    kept = msgpack.decode(b64decode(aside["message"]["data"]), type=list[Delivery])
    assert [each.key for each in kept] == ["evt_3"] and await bench.messages() == 1


@pytest.mark.parametrize("text", [b"hello?", msgpack.encode([delivery("no_text")]).replace(b"no_text", b"no_tex\xff")])
async def test_a_message_that_a_later_version_wrote_is_set_aside(
    bench: Bench, caplog: pytest.LogCaptureFixture, text: bytes
) -> None:
    journal, backlog = await bench.journal(), await bench.backlog()
    await bench.publish(text, lane="3", headers=MessageMac(MAC_KEY).headers("3", text))
    await journal.record([delivery()])

    async def step() -> bool:
        await bench.drainer(backlog).step()
        return bench.elsewhere.keys == ["evt_1"] and await bench.messages() == 1

    await until(step)
    assert "journal_message_unreadable" in caplog.text


@pytest.mark.req("R53")
async def test_a_drainer_waits_for_a_broker_that_is_away(
    mortal: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal.server.start()
    journal, backlog = await mortal.journal(), await mortal.backlog()
    await journal.record(deliveries(30))
    drainer = mortal.drainer(backlog)
    mortal.server.kill()
    with monkeypatch.context() as hurried:
        hurried.setattr(jetstream_link, "ANSWER_SECONDS", 0.5)
        assert await drainer.step() > 0
    assert "unavailable" in caplog.text
    mortal.server.start()

    async def step() -> bool:
        mortal.clock.advance(10)
        await drainer.step()
        return len(mortal.elsewhere.rows) == 30 and await mortal.messages() == 0

    await until(step)
    assert Counter(mortal.elsewhere.times).most_common(1)[0][1] == 1


@pytest.mark.parametrize(
    ("waiting", "limit", "start", "wanted"),
    [
        ({}, 500, 0, {}),
        ({0: 10, 5: 20}, 500, 0, {0: 10, 5: 20}),
        ({0: 400, 5: 400, 7: 9}, 500, 0, {0: 400, 5: 100}),
        ({0: 400, 5: 400, 7: 9}, 500, 5, {5: 400, 7: 9, 0: 91}),
    ],
)
def test_a_share_begins_where_it_is_told_to(
    waiting: dict[int, int], limit: int, start: int, wanted: dict[int, int]
) -> None:
    assert list(share(waiting, limit, start=start).items()) == list(wanted.items())

"""The journal on JetStream: what it acknowledges is durable, and what it cannot, nobody is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

import msgspec
import pytest

from landfast.caches.local import LocalSeen
from landfast.domain.delivery import Delivery
from landfast.domain.errors import JournalUnavailableError, OverloadedError
from landfast.intake.durability.fallback import Alone
from landfast.intake.record import GroupCommit, RecordResult
from landfast.journals import jetstream_link
from landfast.journals.jetstream import JetStreamJournal, partition_of
from landfast.journals.jetstream_address import read_address
from landfast.journals.jetstream_link import Link
from landfast.journals.jetstream_mac import MessageMac
from landfast.journals.jetstream_stream import PARTITIONS
from landfast.testing.factory import DAWN, deliveries, delivery
from tests.intake.desk import CountingWakeup
from tests.journals.jetstream_bench import MAC_KEY, Bench, until
from tests.nats import Nats
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy


@pytest.mark.req("R55")
async def test_what_is_acknowledged_is_in_the_stream_byte_for_byte(bench: Bench) -> None:
    journal = await bench.journal()
    sent = [
        delivery("evt_1", entity="cus_1", occurred_at=DAWN, body=bytes(range(256))),
        delivery("evt_2", received_at=DAWN + timedelta(microseconds=1), headers=b"[]", body=b""),
        msgspec.structs.replace(delivery("evt_3", source="other"), hold="too old", is_strict=True),
    ]
    recorded = await journal.record(sent)
    assert [(row.event_id, row.is_new, row.in_inbox) for row in recorded] == [
        (each.event_id, True, False) for each in sent
    ]
    taken = await (await bench.backlog()).take(10)
    found = {each.event_id: each for one in taken for each in one.deliveries}
    assert [found[each.event_id] for each in sent] == sent
    assert not bench.elsewhere.rows


@pytest.mark.req("R7")
async def test_the_window_of_the_queue_answers_the_retry(bench: Bench) -> None:
    """Also when another intake takes it."""
    first, second = await bench.journal(), await bench.journal()
    assert [row.is_new for row in await first.record(deliveries(3))] == [True] * 3
    again = await second.record(deliveries(3, body=b"another body, as Stripe may send it"))
    assert [(row.is_new, row.in_inbox) for row in again] == [(False, False)] * 3
    assert await bench.messages() == 3


@pytest.mark.req("R7")
async def test_of_twins_that_come_at_once_one_is_new(bench: Bench) -> None:
    journals = [await bench.journal() for _ in range(3)]
    recorded = await asyncio.gather(*[journal.record(deliveries(50)) for journal in journals])
    assert sum(row.is_new for rows in recorded for row in rows) == 50
    assert await bench.messages() == 50


async def test_of_a_strict_source_another_body_gets_through_the_window(bench: Bench) -> None:
    journal = await bench.journal()

    def strict(body: bytes) -> Delivery:
        return msgspec.structs.replace(delivery("evt_1", body=body), is_strict=True)

    recorded = [(await journal.record([strict(body)]))[0].is_new for body in (b"one", b"other", b"one")]
    assert recorded == [True, True, False]


async def test_a_request_with_many_events_is_one_message(bench: Bench) -> None:
    """All of it or nothing; its copy is known, and one of its events alone is another request."""
    journal = await bench.journal()
    batch = [delivery(f"evt_{number}") for number in range(20)]
    other = delivery("evt_x", received_at=DAWN + timedelta(seconds=1))
    recorded = await journal.record([*batch, other, batch[0]])
    assert [row.is_new for row in recorded] == [True] * 21 + [False]
    assert await bench.messages() == 2
    assert not any(row.is_new for row in await journal.record(list(reversed(batch))))
    assert (await journal.record([replace_time(batch[3])]))[0].is_new
    taken = await (await bench.backlog()).take(100)
    assert sorted(len(each.deliveries) for each in taken) == [1, 1, 20]


@pytest.mark.parametrize("body", [b"x" * 2**20, b"x" * (2**20 - 300)], ids=["too large", "too large with its headers"])
async def test_what_no_message_can_hold_goes_into_the_inbox_itself(bench: Bench, body: bytes) -> None:
    journal = await bench.journal()
    large = delivery("evt_large", body=body, received_at=DAWN + timedelta(seconds=1))
    recorded = await journal.record([large, delivery("evt_small")])
    assert [(row.is_new, row.in_inbox) for row in recorded] == [(True, True), (True, False)]
    assert bench.elsewhere.keys == ["evt_large"]
    assert await bench.messages() == 1


@pytest.mark.req("R53")
async def test_while_the_inbox_is_away_what_no_message_can_hold_is_refused_alone_and_the_intake_stays_ready(
    bench: Bench,
) -> None:
    alone = Alone(await bench.journal(), clock=bench.clock, name="journal")
    group = GroupCommit(alone, seen=LocalSeen(), wakeup=CountingWakeup())
    told: dict[str, RecordResult] = {}

    async def send(*sent: Delivery) -> None:
        for one in sent:
            group.record([one], partial(told.__setitem__, one.key))
        await group.close()

    small = [delivery(f"evt_{number}", headers=b"%d" % number) for number in range(5)]
    large = delivery("evt_large", body=b"x" * 2**20)
    bench.elsewhere.is_away = True
    await send(*small[:2], large, *small[2:])
    assert isinstance(told.pop("evt_large"), OverloadedError)
    rows = [row for found in told.values() if not isinstance(found, Exception) for row in found]
    assert [(row.is_new, row.in_inbox) for row in rows] == [(True, False)] * 5
    await send(large)
    assert isinstance(told.pop("evt_large"), OverloadedError)
    assert (alone.where, await bench.messages()) == ("journal", 5)
    bench.elsewhere.is_away = False
    await send(large)
    assert not isinstance(told.pop("evt_large"), Exception) and bench.elsewhere.keys == ["evt_large"]


async def test_a_stream_with_a_limit_of_its_own_is_asked_for_no_more(bench: Bench) -> None:
    await bench.make_stream(max_msg_size=1000)
    recorded = await (await bench.journal()).record([delivery("evt_1", body=b"x" * 1000)])
    assert recorded[0].in_inbox
    assert await bench.messages() == 0


async def test_a_key_that_is_no_text_goes_into_the_inbox_itself(bench: Bench) -> None:
    recorded = await (await bench.journal()).record([delivery("evt_\ud800")])
    assert recorded[0].in_inbox and len(bench.elsewhere.rows) == 1


@pytest.mark.req("R53")
@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.SILENCE])
async def test_without_the_acknowledgement_nobody_is_answered(
    bench: Bench, fate: Fate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is stored, and the intake cannot know: the sender comes again, and is a duplicate."""
    async with Proxy(bench.server.port).running() as proxy:
        journal = await bench.journal(target=bench.target.replace(str(bench.server.port), str(proxy.port)))
        proxy.strike(b"evt_1", fate)
        with monkeypatch.context() as hurried:
            hurried.setattr(jetstream_link, "ANSWER_SECONDS", 0.5)
            with pytest.raises(JournalUnavailableError, match="not acknowledged"):
                await journal.record([delivery("evt_1")])
        async with asyncio.timeout(PATIENCE_SECONDS):
            await proxy.struck.wait()
        await until(lambda: _is(bench, 1))
        again = await (await bench.journal()).record([delivery("evt_1")])
        assert not again[0].is_new


@pytest.mark.req("R53")
async def test_a_broker_that_dies_keeps_what_it_acknowledged_and_is_found_again(mortal: Bench) -> None:
    mortal.server.start()
    journal = await mortal.journal()
    await journal.record(deliveries(20))
    mortal.server.kill()
    with pytest.raises(JournalUnavailableError):
        await journal.record(deliveries(5, prefix="lost"))
    mortal.server.start()

    async def is_back() -> bool:
        try:
            return not any(row.is_new for row in await journal.record(deliveries(20)))
        except JournalUnavailableError:
            return False

    await until(is_back)
    assert await mortal.messages() == 20


@pytest.mark.req("R53")
async def test_an_intake_starts_while_the_broker_is_away(mortal: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have a spool; and a 503 that comes at once is better than no answer."""
    with monkeypatch.context() as hurried:
        hurried.setattr(jetstream_link, "CONNECT_SECONDS", 0.1)
        journal = await mortal.journal()
    with pytest.raises(JournalUnavailableError, match="no connection"):
        await journal.record([delivery()])
    mortal.server.start()

    await until(lambda: _is_recorded(journal))
    assert await mortal.messages() == 1


@pytest.mark.req("R53")
async def test_an_intake_stops_at_any_moment_while_the_broker_is_away(mortal: Bench) -> None:
    """Also in the middle of an attempt to connect: an end that is lost there would keep the process."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        for turns in range(40):
            link = Link(read_address(mortal.target), role="test")
            opening = asyncio.create_task(link.open())
            for _ in range(turns):
                await asyncio.sleep(0)
            await link.close()
            opening.cancel()
            await asyncio.wait([opening])
    assert [task for task in asyncio.all_tasks() if "Link" in repr(task)] == []


async def test_a_password_may_hold_any_character_and_a_wrong_one_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Nats(more='authorization { user: "me", password: "hush@/:" }')
    try:
        server.start()
        place = f"127.0.0.1:{server.port}/guarded?sync=always"
        link = Link(read_address(f"nats://me:hush%40%2F%3A@{place}"), role="test")
        assert await link.open()
        await link.close()
        monkeypatch.setattr(jetstream_link, "CONNECT_SECONDS", 0.5)
        # The server says why and hangs up: now and then the end arrives before the reason.
        reasons: list[str] = []
        while not reasons or ("Authorization Violation" not in reasons[-1] and len(reasons) < 10):
            reasons.append(await _refusal(f"nats://me:wrong@{place}"))
        assert "Authorization Violation" in reasons[-1], reasons
        assert not any("wrong" in reason for reason in reasons)
    finally:
        server.destroy()


async def _refusal(target: str) -> str:
    link = Link(read_address(target), role="test")
    assert not await link.open()
    with pytest.raises(JournalUnavailableError) as caught:
        await link.client()
    await link.close()
    return str(caught.value)


async def test_a_connection_that_the_server_ended_for_good_is_made_anew(bench: Bench) -> None:
    """The client library gives up after some errors of the server."""
    journal = await bench.journal()
    ended = journal._link._client
    assert ended is not None
    await ended.close()
    await until(lambda: _is_recorded(journal))
    assert journal._link.times_connected == 2


@pytest.mark.req("R53")
async def test_a_full_stream_refuses_and_drops_nothing(bench: Bench) -> None:
    await bench.make_stream(max_msgs=3)
    journal = await bench.journal()
    await journal.record(deliveries(3))
    with pytest.raises(JournalUnavailableError, match="maximum messages"):
        await journal.record([delivery("one_more")])
    taken = await (await bench.backlog()).take(10)
    assert sorted(one.deliveries[0].key for one in taken) == [each.key for each in deliveries(3)]


@pytest.mark.req("R53")
async def test_a_stream_that_was_deleted_is_missed_and_not_made_again_in_silence(bench: Bench) -> None:
    """What it held is lost, which nobody promises to survive; whoever deleted it must be able to notice."""
    journal, backlog = await bench.journal(), await bench.backlog()
    await journal.record(deliveries(3))
    await bench.delete_stream()
    for _ in range(2):
        with pytest.raises(JournalUnavailableError):
            await journal.record([delivery("after")])
        with pytest.raises(JournalUnavailableError, match="no stream"):
            await backlog.take(10)
    assert await bench.messages() == -1
    # A start makes a new one. The senders' retries come through it, once each, and the drainer that was there goes on.
    fresh = await bench.journal()
    assert all(row.is_new for row in await fresh.record(deliveries(3)))
    found: list[str] = []

    async def is_taken() -> bool:
        try:
            taken = await backlog.take(10)
        except JournalUnavailableError:
            return False
        await backlog.forget(taken)
        found.extend(one.deliveries[0].key for one in taken)
        return len(found) >= 3

    await until(is_taken)
    assert sorted(found) == [each.key for each in deliveries(3)]


async def test_a_stranger_that_took_over_the_subjects_is_not_believed(bench: Bench) -> None:
    """Its acknowledgement means nothing: it may be a log in memory."""
    journal = await bench.journal()
    await bench.delete_stream()
    stranger = Bench(bench.server)
    await stranger.make_stream(subjects=[f"landfast.{bench.name}.*"], storage="memory")
    with pytest.raises(JournalUnavailableError, match="not acknowledged: expected stream"):
        await journal.record([delivery()])
    assert await stranger.messages() == 0


def test_a_lane_has_one_partition_and_lanes_are_spread() -> None:
    one = [partition_of(delivery(f"evt_{number}", entity="cus_1")) for number in range(50)]
    assert len(set(one)) == 1
    alone = [partition_of(delivery(f"evt_{number}")) for number in range(4000)]
    assert sorted(set(alone)) == list(range(PARTITIONS))
    assert max(map(alone.count, range(PARTITIONS))) < 1.3 * 4000 / PARTITIONS
    assert partition_of(delivery("evt_1", entity="cus_1")) == 6  # for ever: intakes of two versions must agree


def test_a_message_is_known_by_its_event() -> None:
    one = delivery("evt_1")
    message_id = MessageMac(MAC_KEY).message_id
    assert message_id([one]) == message_id([one, one]) != message_id([delivery("evt_2")])
    assert message_id(deliveries(2)) == message_id(deliveries(2)[::-1]) != message_id(deliveries(3))
    assert message_id([one]) != MessageMac(bytes(32)).message_id([one]), "who knows the event could guess it"


async def _is_recorded(journal: JetStreamJournal) -> bool:
    try:
        return (await journal.record([delivery()]))[0].is_new
    except JournalUnavailableError:
        return False


def replace_time(one: Delivery) -> Delivery:
    return msgspec.structs.replace(one, received_at=one.received_at + timedelta(seconds=5))


async def _is(bench: Bench, count: int) -> bool:
    return await bench.messages() == count


@pytest.mark.req("R53")
async def test_a_cable_that_is_pulled_under_load_keeps_nobody_waiting_and_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is unsent then stays in the socket for as long as TCP tries; the library waits for that, and we must not."""
    monkeypatch.setattr(jetstream_link, "PING_SECONDS", 0.2)
    large = [delivery(f"evt_{number}", body=bytes(900_000), headers=b"%d" % number) for number in range(30)]
    async with Proxy(bench.server.port).running() as proxy:
        journal = await bench.journal(target=bench.target.replace(str(bench.server.port), str(proxy.port)))

        async def is_there() -> bool:
            with suppress(JournalUnavailableError):  # a broker that stands still for three pings is given up, too
                await journal.record([delivery()])
                return True
            return False

        await until(is_there)
        proxy.cut()
        with monkeypatch.context() as hurried:
            hurried.setattr(jetstream_link, "ANSWER_SECONDS", 0.5)
            # Not under a timeout of asyncio: where the patience is lost, that would be lost as well.
            noticing = asyncio.create_task(_until_given_up(journal, large))
            await asyncio.wait([noticing], timeout=PATIENCE_SECONDS)
            assert noticing.done() and proxy.held
        proxy.mend()
        await until(is_there)


async def _until_given_up(journal: JetStreamJournal, large: Sequence[Delivery]) -> None:
    while True:
        with pytest.raises(JournalUnavailableError) as refused:
            await journal.record(large)
        if "no connection" in str(refused.value):
            return

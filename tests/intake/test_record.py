"""Group commit: batches, budgets, bad rows and outages."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from landfast.caches.local import LocalSeen
from landfast.domain.answer import Answer
from landfast.domain.census import SourceTally
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.errors import OverloadedError, PartUnavailableError, RowRefusedError
from landfast.domain.ids import event_id
from landfast.intake import record
from landfast.intake.record import GroupCommit, RecordResult
from landfast.testing.factory import deliveries, delivery
from tests.intake.desk import CountingWakeup, Desk, MemoryRecorder, body


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_what_arrives_during_a_commit_forms_the_next_batch_sorted_by_event(desk: Desk) -> None:
    desk.recorder.gate.clear()
    first = asyncio.ensure_future(desk.deliver(body(0)))
    await desk.recorder.entered.wait()
    rest = [asyncio.ensure_future(desk.deliver(body(n))) for n in range(1, 40)]
    await asyncio.sleep(0)
    desk.recorder.gate.set()
    answers = await asyncio.gather(first, *rest)
    assert {answer.status for answer in answers} == {200}
    assert [len(batch) for batch in desk.recorder.batches] == [1, 39]
    ids = [delivery.event_id for delivery in desk.recorder.batches[1]]
    assert ids == sorted(ids)
    assert desk.wakeup.nudges == 2


async def test_each_sender_is_told_its_own_event(desk: Desk) -> None:
    bodies = [body(n) for n in range(20)]
    answers = await asyncio.gather(*(desk.deliver(each) for each in bodies))
    told = [json.loads(answer.body)["event"] for answer in answers]
    by_body = {delivery.body: delivery.event_id.hex() for delivery in desk.recorder.events.values()}
    assert told == [by_body[each] for each in bodies]


async def test_a_batch_has_at_most_500_deliveries(desk: Desk) -> None:
    await asyncio.gather(*(desk.deliver(body(n)) for n in range(1100)))
    assert [len(batch) for batch in desk.recorder.batches] == [500, 500, 100]


async def test_a_batch_has_at_most_8_mib_unless_one_request_alone_has_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "BATCH_BYTES", 50)
    futures = [put(desk, f"key{n}", b"x" * size) for n, size in enumerate([30, 15, 30, 100, 1])]
    await asyncio.gather(*futures)
    assert [len(batch) for batch in desk.recorder.batches] == [2, 1, 1, 1]


async def test_a_row_that_the_inbox_refuses_gets_a_500_and_its_neighbours_survive(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.recorder.poison = b'"evt_7"'
    answers = await asyncio.gather(*(desk.deliver(body(n)) for n in range(21)))
    assert [n for n, answer in enumerate(answers) if answer.status == 500] == [7]
    assert json.loads(answers[7].body) == {"error": "internal error"}
    assert len(desk.recorder.events) == 20
    assert desk.count() == SourceTally(21, 20, 0, 1)
    assert "delivery_refused" in caplog.text


async def test_of_a_request_of_many_what_the_inbox_takes_is_recorded_and_the_sender_is_told_of_the_failure(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """It sends all of it again, and gives up in the end: by then the good ones are processed."""
    desk.recorder.poison = b'"evt_0003"'
    told: list[object] = []
    neighbour: list[object] = []
    desk.group.record(deliveries(7), told.append)
    desk.group.record([delivery("evt_neighbour")], neighbour.append)
    await desk.group.close()
    assert len(desk.recorder.events) == 7
    assert [type(each) for each in told] == [RowRefusedError]
    assert isinstance(neighbour[0], Sequence)
    (line,) = [record.getMessage() for record in caplog.records if "delivery_refused" in record.message]
    assert deliveries(7)[3].event_id.hex() in line
    # Once the row is mended, the retry is acknowledged: six are known, and one is new.
    desk.recorder.poison = b"nothing"
    desk.group.record(deliveries(7), told.append)
    await desk.group.close()
    assert [row.is_new for row in told[1]] == [each.key == "evt_0003" for each in in_order(deliveries(7))]  # type: ignore[attr-defined]


def in_order(found: Sequence[Delivery]) -> list[Delivery]:
    """As they are recorded."""
    return sorted(found, key=lambda each: each.event_id)


@pytest.mark.req("R3")
async def test_while_the_inbox_is_away_all_get_503_with_retry_after_and_one_line_is_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "landfast")
    desk.recorder.is_down = True
    for _ in range(3):
        answers = await asyncio.gather(*(desk.deliver(body(n)) for n in range(5)))
        assert all(answer.status == 503 and answer.headers == ((b"retry-after", b"5"),) for answer in answers)
    assert caplog.text.count("recording_unavailable") == 1
    assert desk.count() == SourceTally(15, 0, 0, 15)
    desk.recorder.is_down = False
    assert (await desk.deliver(body())).status == 200
    desk.recorder.is_down = True
    await desk.deliver(body(2))
    assert caplog.text.count("recording_unavailable") == 2


async def test_what_cannot_be_taken_now_is_refused_at_once_and_keeps_nobody_else_out(desk: Desk) -> None:
    first, second, third = (put(desk, f"key{n}", b"x") for n in range(3))
    desk.recorder.bug = PartUnavailableError("too large", events=frozenset([event_id("stripe", "key1")]))
    second.add_done_callback(lambda _: setattr(desk.recorder, "bug", None))
    assert isinstance(await second, OverloadedError)
    assert not any(isinstance(outcome, Exception) for outcome in await asyncio.gather(first, third))
    assert [len(batch) for batch in desk.recorder.batches] == [3, 2]
    desk.recorder.bug = PartUnavailableError("and which is not said", events=frozenset())
    assert [answer.status for answer in await asyncio.gather(*(desk.deliver(body(n)) for n in range(3)))] == [503] * 3


async def test_an_unexpected_error_answers_everybody_and_the_next_batch_goes_on(desk: Desk) -> None:
    desk.recorder.bug = ZeroDivisionError("inside")
    answers = await asyncio.gather(*(desk.deliver(body(n)) for n in range(3)))
    assert {answer.status for answer in answers} == {500}
    desk.recorder.bug = None
    assert (await desk.deliver(body())).status == 200
    assert desk.is_balanced()


async def test_beyond_the_budget_the_answer_is_503_at_once_and_later_there_is_room_again() -> None:
    desk = Desk(budget=3 * len(body()))
    desk.recorder.gate.clear()
    waiting = [desk.receive(body(n)) for n in (1, 2)]
    refused = desk.receive(body(3))
    assert isinstance(refused, Answer) and refused.status == 503
    desk.recorder.gate.set()
    for outcome in waiting:
        assert isinstance(outcome, asyncio.Future)
        assert (await outcome).status == 200
    assert (await desk.deliver(body(3))).status == 200
    assert desk.count() == SourceTally(4, 3, 0, 1)


async def test_one_request_alone_may_exceed_the_budget() -> None:
    desk = Desk(budget=1)
    assert (await desk.deliver(body())).status == 200


@pytest.mark.req("R3")
async def test_an_event_is_stored_and_counted_although_nobody_waits_for_the_answer(desk: Desk) -> None:
    outcome, neighbour = desk.receive(body(1)), desk.receive(body(2))
    assert isinstance(outcome, asyncio.Future) and isinstance(neighbour, asyncio.Future)
    outcome.cancel()
    await desk.group.close()
    assert len(desk.recorder.events) == 2 and neighbour.done()
    assert desk.count() == SourceTally(2, 2, 0, 0)


async def test_an_answer_that_cannot_be_given_keeps_nobody_else_waiting(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = (put(desk, f"key{n}", b"x") for n in range(3))
    second.cancel()  # its set_result raises
    assert all(not isinstance(outcome, Exception) for outcome in await asyncio.gather(first, third))
    assert caplog.text.count("answer_failed") == 1


async def test_closing_waits_for_everything_that_was_taken(desk: Desk) -> None:
    await desk.group.close()
    outcomes = [desk.receive(body(n)) for n in range(700)]
    await desk.group.close()
    assert len(desk.recorder.events) == 700
    assert all(isinstance(outcome, asyncio.Future) and outcome.done() for outcome in outcomes)


async def test_duplicates_alone_wake_nobody(desk: Desk) -> None:
    await desk.deliver(body())
    desk.seen.clear()
    await desk.deliver(body())
    assert desk.wakeup.nudges == 1


def put(desk: Desk, key: str, content: bytes) -> asyncio.Future[RecordResult]:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    delivery = Delivery.of("stripe", Identity(key, "t"), received_at=now, headers=b"", body=content)

    later: asyncio.Future[RecordResult] = asyncio.get_running_loop().create_future()
    desk.group.record([delivery], later.set_result)
    return later


async def test_no_source_takes_all_bytes_before_the_commit() -> None:
    recorder = MemoryRecorder()
    recorder.gate.clear()
    group = GroupCommit(recorder, seen=LocalSeen(), wakeup=CountingWakeup(), budget=10_000, has_neighbours=True)
    concluded: list[object] = []

    def deliver(name: str, number: int) -> None:
        made = Delivery(
            source=name,
            key=str(number),
            type="t",
            entity=None,
            occurred_at=None,
            received_at=datetime.now(UTC),
            headers=b"[]",
            body=b"x" * 998,
            event_id=event_id(name, str(number)),
        )
        group.record([made], concluded.append)

    for number in range(5):
        deliver("flood", number)
    with pytest.raises(OverloadedError, match="of this source"):
        deliver("flood", 5)
    for number in range(2):
        deliver("other", number)
    recorder.gate.set()
    await group.close()
    assert len(concluded) == 7 and set(group._held_of.values()) == {0}

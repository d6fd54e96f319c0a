"""The same key with another body, at a source that minds: nothing is swallowed, nothing runs twice, somebody is told."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from landfast.domain.delivery import Delivery
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.filter import Filter
from landfast.domain.ids import Proof
from landfast.domain.lifecycle import State
from landfast.domain.text import TEXT_LIMIT
from landfast.intake.durability.strict import StrictJournal
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import claim, look
from landfast.testing.crash import crash_at
from landfast.testing.factory import DAWN, delivery
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench

PROOF = Proof(b"transmission-001")
FIRST, SECOND, THIRD = b'{"amount":1}', b'{"amount":2}', b'{"amount":3}'


def strict(key: str = "evt_1", *, body: bytes = FIRST, source: str = "bank") -> Delivery:
    return msgspec.structs.replace(delivery(key, source=source, body=body), is_strict=True)


@pytest.fixture(params=["sqlite", "postgres"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteBench | PostgresBench]:
    made: SqliteBench | PostgresBench = (
        SqliteBench(tmp_path / "inbox.db")
        if request.param == "sqlite"
        else PostgresBench(request.getfixturevalue("database"))
    )
    await made.inbox.open()
    await made.inbox.migrate()
    yield made
    await made.close()


@pytest.fixture
def inbox(bench: SqliteBench | PostgresBench) -> Inbox:
    return bench.inbox


@pytest.fixture
def journal(bench: SqliteBench | PostgresBench) -> StrictJournal:
    return StrictJournal(bench.inbox, clock=bench.clock)


@pytest.mark.req("R10")
async def test_the_first_body_wins_and_another_is_an_event_of_its_own_and_held(
    inbox: Inbox, journal: StrictJournal
) -> None:
    (first,) = await journal.record([strict()])
    (other,) = await journal.record([strict(body=SECOND)])
    assert (first.is_new, other.is_new) == (True, True)
    kept, variant = await look(inbox, first.event_id), await look(inbox, other.event_id)
    assert (kept.body, kept.summary.state, kept.summary.key) == (FIRST, State.READY, "evt_1")
    assert (variant.body, variant.summary.state, variant.summary.reason) == (SECOND, State.HELD, "variant")
    assert variant.summary.key == f"evt_1~{hashlib.sha256(SECOND).hexdigest()[:16]}"
    assert [one.body for one in await claim(inbox, 1, limit=10)] == [FIRST]


async def test_each_body_that_comes_again_is_a_duplicate_of_itself(inbox: Inbox, journal: StrictJournal) -> None:
    bodies = [FIRST, SECOND, THIRD]
    new = [(await journal.record([strict(body=body)]))[0] for body in bodies]
    again = [(await journal.record([strict(body=body)]))[0] for body in reversed(bodies)]
    assert [row.is_new for row in new + again] == [True] * 3 + [False] * 3
    assert [row.event_id for row in again] == [row.event_id for row in reversed(new)]
    assert (await inbox.census()).states[State.HELD] == 2


async def test_in_one_batch_the_first_body_wins_too_and_answers_stay_in_order(
    inbox: Inbox, journal: StrictJournal
) -> None:
    batch = [strict(body=body) for body in (FIRST, SECOND, FIRST, SECOND, THIRD)]
    batch.insert(2, strict("evt_2"))
    recorded = await journal.record(batch)
    assert [row.is_new for row in recorded] == [True, True, True, False, False, True]
    stored = [(await look(inbox, row.event_id)).body for row in recorded]
    assert stored == [one.body for one in batch]


async def test_at_any_other_source_another_body_is_a_duplicate(inbox: Inbox, journal: StrictJournal) -> None:
    await journal.record([delivery("evt_1", body=FIRST), strict("evt_1")])
    (again,) = await journal.record([delivery("evt_1", body=SECOND)])
    assert not again.is_new
    assert not await inbox.count(Filter(state=State.HELD), at_most=10)


async def test_the_key_of_a_variant_is_one_that_can_be_stored(inbox: Inbox, journal: StrictJournal) -> None:
    long = "k" * TEXT_LIMIT
    await journal.record([strict(long)])
    others = [(await journal.record([strict(long, body=body)]))[0] for body in (SECOND, THIRD, SECOND)]
    assert [row.is_new for row in others] == [True, True, False]
    assert others[0].event_id == others[2].event_id != others[1].event_id
    assert len((await look(inbox, others[0].event_id)).summary.key) <= TEXT_LIMIT


async def test_a_crash_before_the_variant_is_stored_loses_nothing(
    bench: SqliteBench | PostgresBench, journal: StrictJournal
) -> None:
    await journal.record([strict()])
    calls = list[str]()
    failing = crash_at(
        bench.inbox, "record", how="raise", nth=2, report=lambda step, when, _: calls.append(f"{when} {step}")
    )
    batch = [strict("evt_2"), strict(body=SECOND)]
    with pytest.raises(InboxUnavailableError):
        await StrictJournal(failing, clock=bench.clock).record(batch)
    assert calls == ["before record"]
    assert not await bench.inbox.count(Filter(state=State.HELD), at_most=10)
    assert [row.is_new for row in await journal.record(batch)] == [False, True]  # the senders came again


@pytest.mark.req("R10")
async def test_somebody_is_told_of_a_variant_once_with_both_ids(
    bench: SqliteBench | PostgresBench, journal: StrictJournal, caplog: pytest.LogCaptureFixture
) -> None:
    (first,) = await journal.record([strict()])
    (other,) = await journal.record([strict(body=SECOND)])
    await journal.record([strict(body=SECOND)])
    (line,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    facts = f"source=bank key=evt_1 event={first.event_id.hex()} variant={other.event_id.hex()}"
    assert line.getMessage() == f"held_variant {facts}"


async def test_a_line_about_a_disproven_event_names_the_one_that_is_held(
    bench: SqliteBench | PostgresBench, journal: StrictJournal, caplog: pytest.LogCaptureFixture
) -> None:
    """None was ever stored under the key that it came with."""
    first, other = (delivery(key, body=body) for key, body in (("evt_1", FIRST), ("evt_2", SECOND)))
    await journal.record([msgspec.structs.replace(first, proof=PROOF)])
    (held,) = await journal.record([msgspec.structs.replace(other, proof=PROOF)])
    (line,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    record = await look(bench.inbox, held.event_id)
    facts = f"source={other.source} key={record.summary.key} event={held.event_id.hex()}"
    assert (line.getMessage(), record.summary.state) == (f"held_disproven {facts}", State.HELD)


async def test_a_flood_of_held_events_is_one_line_a_second(
    bench: SqliteBench | PostgresBench, journal: StrictJournal, caplog: pytest.LogCaptureFixture
) -> None:
    old = DAWN - timedelta(days=100)
    for number in range(5):
        await journal.record([delivery(f"evt_{number}", hold="late", occurred_at=old)])
    assert [record.getMessage().split(" occurred_at")[0] for record in caplog.records] == [
        f"held_late source=shop key=evt_0 event={delivery('evt_0').event_id.hex()}"
    ]
    bench.clock.advance(1)
    await journal.record([delivery("evt_5", hold="late", occurred_at=old)])
    await journal.record([delivery("evt_5", hold="late", occurred_at=old)])
    assert len(caplog.records) == 2
    assert caplog.records[1].getMessage().endswith("others=4")

"""A known event under another type that nobody signed: a sibling, or held; never a silent second run."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from landfast.domain.delivery import ALWAYS_SIBLINGS, NO_SIBLINGS, Delivery, Siblings
from landfast.domain.ids import SeenMark
from landfast.domain.lifecycle import State
from landfast.intake.durability.strict import StrictJournal
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import look
from landfast.testing.factory import delivery
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench

HOURS_4: Siblings = (0.0, 4 * 3600.0)
ANEW: Siblings = (600.0, math.inf)


def typed(type_: str, *, siblings: Siblings | None = NO_SIBLINGS, after: float = 0.0) -> Delivery:
    first = delivery("evt_1", source="shop", body=b"{}")
    at = first.received_at + timedelta(seconds=after)
    return msgspec.structs.replace(first, type=type_, siblings=siblings, received_at=at)


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


@pytest.mark.req("R4", "R10")
async def test_a_known_body_under_another_type_is_an_event_of_its_own_and_held(
    inbox: Inbox, journal: StrictJournal, caplog: pytest.LogCaptureFixture
) -> None:
    (first,) = await journal.record([typed("orders/create")])
    (other,) = await journal.record([typed("customers/redact")])
    assert other.is_new and other.event_id != first.event_id
    held = (await look(inbox, other.event_id)).summary
    assert (held.state, held.key, held.type) == (State.HELD, "evt_1~customers/redact", "customers/redact")
    assert (await look(inbox, first.event_id)).summary.state is State.READY
    assert "held_retyped" in caplog.text


@pytest.mark.req("R4")
async def test_what_is_held_for_its_type_and_sent_again_is_a_duplicate_of_itself(journal: StrictJournal) -> None:
    await journal.record([typed("orders/create")])
    (other,) = await journal.record([typed("orders/paid")])
    (again, genuine) = await journal.record([typed("orders/paid"), typed("orders/create")])
    assert (again.event_id, again.is_new, genuine.is_new) == (other.event_id, False, False)


@pytest.mark.req("R4")
async def test_two_types_in_one_batch_are_told_apart_too(inbox: Inbox, journal: StrictJournal) -> None:
    first, other = await journal.record([typed("orders/create"), typed("orders/paid")])
    assert first.is_new and other.is_new
    assert (await look(inbox, other.event_id)).summary.state is State.HELD


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("siblings", "after", "state"),
    [
        (HOURS_4, 0.0, State.READY),
        (HOURS_4, 4 * 3600.0 - 1, State.READY),
        (HOURS_4, 4 * 3600.0, State.HELD),
        (ANEW, 599.0, State.HELD),
        (ANEW, 600.0, State.READY),
        (ALWAYS_SIBLINGS, 10**8, State.READY),
        (NO_SIBLINGS, 0.0, State.HELD),
    ],
)
async def test_whether_it_is_a_sibling_is_a_matter_of_time(
    inbox: Inbox, journal: StrictJournal, siblings: Siblings, after: float, state: State
) -> None:
    await journal.record([typed("orders/create", siblings=siblings)])
    (other,) = await journal.record([typed("orders/paid", siblings=siblings, after=after)])
    assert (await look(inbox, other.event_id)).summary.state is state


@pytest.mark.req("R4")
async def test_an_event_that_lost_its_type_is_no_sibling(inbox: Inbox, journal: StrictJournal) -> None:
    await journal.record([typed("orders/create", siblings=HOURS_4)])
    (other,) = await journal.record([typed("", siblings=HOURS_4)])
    assert (await look(inbox, other.event_id)).summary.state is State.HELD


@pytest.mark.req("R4")
async def test_where_the_type_is_signed_or_proves_nothing_it_makes_no_other_event(journal: StrictJournal) -> None:
    (first,) = await journal.record([typed("orders/create", siblings=None)])
    (again,) = await journal.record([typed("orders/paid", siblings=None)])
    assert (again.event_id, again.is_new) == (first.event_id, False)


@pytest.mark.req("R4", "R5")
def test_the_seen_cache_knows_an_event_by_its_type_where_that_is_not_signed() -> None:
    assert typed("a").mark != typed("b").mark
    assert typed("a", siblings=None).mark == typed("b", siblings=None).mark == SeenMark(typed("a").event_id)
    strict = msgspec.structs.replace(typed("a"), is_strict=True)
    assert len({strict.mark, typed("a").mark, msgspec.structs.replace(strict, siblings=None).mark}) == 3

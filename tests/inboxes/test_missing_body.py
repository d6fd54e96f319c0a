"""An event whose body is gone is no work for anybody: it ends as a dead letter that says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.bench import claim, look
from landfast.testing.conformance.inbox.lane_bench import SOURCE, of_lane
from landfast.testing.factory import LEASE, deliveries, event_in, token
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench, by_hand

DELETE = "DELETE FROM {0}body WHERE event_id = {1}"


class Bodies:
    """An inbox, and a hand that takes a body out of it."""

    def __init__(self, bench: SqliteBench | PostgresBench) -> None:
        self.bench = bench
        self.inbox = bench.inbox

    async def lose(self, event: bytes) -> None:
        if isinstance(self.bench, SqliteBench):
            by_hand(self.bench.path, DELETE.format("", f"x'{event.hex()}'"))
        else:
            await self.bench.fetch(DELETE.format("landfast.", f"'\\x{event.hex()}' RETURNING key"))


@pytest.fixture(params=["sqlite", "postgres"])
async def bodies(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bodies]:
    made: SqliteBench | PostgresBench = (
        SqliteBench(tmp_path / "inbox.db")
        if request.param == "sqlite"
        else PostgresBench(request.getfixturevalue("database"))
    )
    await made.inbox.open()
    await made.inbox.migrate()
    yield Bodies(made)
    await made.close()


async def test_a_claim_buries_what_has_no_body_and_returns_the_rest(bodies: Bodies) -> None:
    batch = deliveries(3, entity="customer_7")
    await bodies.inbox.record(batch)
    await bodies.lose(batch[1].event_id)
    assert [one.key for one in await claim(bodies.inbox, 1, limit=10)] == ["evt_0000", "evt_0002"]
    await _must_be_understood(bodies, batch[1].event_id)
    await bodies.bench.advance(LEASE + 1)
    suspects = [await bodies.inbox.claim_suspect(token=token(n), lease=LEASE) for n in (7, 8, 9)]
    assert [one.key if one else None for one in suspects] == ["evt_0000", "evt_0002", None]


async def test_a_suspect_without_a_body_is_buried_too(bodies: Bodies) -> None:
    held = await event_in(bodies.inbox, State.CLAIMED, deliveries(1, entity="customer_7")[0])
    await bodies.lose(held.event_id)
    await bodies.bench.advance(LEASE + 1)
    assert await bodies.inbox.claim_suspect(token=token(7), lease=LEASE) is None
    assert not await bodies.inbox.has_suspects()
    await _must_be_understood(bodies, held.event_id)


async def test_what_comes_after_one_without_a_body_in_its_lane_is_behind_it(bodies: Bodies) -> None:
    """The two were claimed together. The dead letter may be restored, and its lane waits for it at its place."""
    await bodies.inbox.order([SOURCE])
    await bodies.inbox.record([*of_lane(1, 2, 3), *of_lane(1, 2, entity="cus_2")])
    await bodies.lose(of_lane(2)[0].event_id)
    taken = await claim(bodies.inbox, 1, limit=9)
    assert [(one.key, one.is_behind) for one in sorted(taken, key=lambda one: one.key)] == [
        ("cus_1:1", False),
        ("cus_1:3", True),
        ("cus_2:1", False),
        ("cus_2:2", False),
    ]


async def _must_be_understood(bodies: Bodies, event: bytes) -> None:
    (dead,) = await bodies.inbox.find(Filter(state=State.DEAD), limit=10)
    assert (dead.event_id, dead.source, dead.type, dead.entity) == (event, "shop", "order.created", "customer_7")
    assert (dead.reason, dead.message) == (
        "body_missing",
        "its body is not in the inbox any more; restore it and replay the event, or have it sent again",
    )
    shown = await look(bodies.inbox, dead.event_id)
    assert (shown.summary, shown.body) == (dead, b"")
    assert [line.signal for line in shown.history] == [Signal.REFUSE]

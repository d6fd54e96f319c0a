"""Passes of retention over a SQLite inbox, and what must be true of it at any moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

from landfast.domain.lifecycle import Signal, State
from landfast.domain.retention import DAY_SECONDS, Count, Retention
from landfast.inboxes.sqlite import SqliteInbox
from landfast.ports.inbox import Inbox
from landfast.testing.factory import DAWN, delivery, settlement, token
from tests.inboxes.sqlite_bench import by_hand

HOLDER = b"a holder"
ALL_LINES = 2**62


async def done(inbox: Inbox, names: Iterable[str], *, body: bytes | None = None) -> None:
    """Record events and finish them, a hundred at a time."""
    keys = list(names)
    for first in range(0, len(keys), 100):
        batch = [
            delivery(key, body=body, received_at=DAWN + timedelta(microseconds=first + at))
            for at, key in enumerate(keys[first : first + 100])
        ]
        await inbox.record(batch)
        claims = await inbox.claim(token=token(first + 1), lease=30, limit=100)
        await inbox.settle([settlement(claim, Signal.FINISH, handlers=("create_order",)) for claim in claims])


async def one_pass(inbox: SqliteInbox, retention: Retention, *, proven: int = ALL_LINES) -> Counter[str]:
    """What it removed, whole or in part, and how many bytes it gave back."""
    total: Counter[str] = Counter()
    assert await inbox.take_retention_turn(HOLDER, every=0, lasting=3600)
    while (step := await inbox.retain(retention, holder=HOLDER, proven=proven)) is not None:
        counts = sum(step.counts.values(), Count())
        total.update(bodies=counts.bodies, events=counts.events, bytes=step.bytes_freed, held_back=step.held_back)
        total["steps"] += 1
    await inbox.end_retention_turn(HOLDER, is_complete=True)
    return total


async def must_be_exact(inbox: SqliteInbox) -> Counter[State]:
    """Every event that was ever stored is in one state or expired, and every table agrees; the states."""
    census = await inbox.census()
    assert census.events == sum(census.states.values()) + sum(census.expired.values())
    looked_up: Counter[State | None] = Counter()
    async for chunk in inbox.recount():
        looked_up.update(chunk)
    assert {state: count for state, count in looked_up.items() if count} == {
        state: count for state, count in census.states.items() if count
    }
    path = inbox._file.path
    for table, column in (("body", "seq"), ("identity", "event_id")):
        ((count,),) = by_hand(path, f"SELECT count({column}) FROM {table}")
        assert count == sum(census.states.values()), table
    for orphans in (
        "SELECT count(*) FROM history WHERE event_id <> x'' AND event_id NOT IN (SELECT event_id FROM identity)",
        "SELECT count(*) FROM shelf WHERE event_id NOT IN (SELECT event_id FROM identity)",
        "SELECT count(*) FROM work WHERE event_id NOT IN (SELECT event_id FROM identity)",
        "SELECT count(*) FROM data_key WHERE seq NOT IN (SELECT seq FROM body)",
    ):
        assert by_hand(path, orphans) == [(0,)], orphans
    assert by_hand(path, "PRAGMA integrity_check") == [("ok",)]
    return Counter(census.states)


YEAR = 366 * DAY_SECONDS

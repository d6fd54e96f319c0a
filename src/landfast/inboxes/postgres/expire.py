"""What becomes of events that were judged: removed as a whole, without their content, or kept beyond their week."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import asyncpg

from landfast.domain.erasure import EMPTY_BODY, EMPTY_HEADERS
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.lifecycle import PLACES, Place, State
from landfast.domain.retention import Count, Counts, Retention, Standing, Verdict
from landfast.inboxes.postgres import lanes
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.statements import SQL


class Judged(NamedTuple):
    event_id: bytes
    received_at: datetime
    source: str
    state: State | None
    """None for one that is at work, or nowhere."""
    verdict: Verdict
    is_held_back: bool = False
    """Its time has come, but its newest line is not proven yet."""
    age: float = 0.0
    """Seconds since its newest line, or since it came."""


def judged(row: asyncpg.Record, retention: Retention, proven: int) -> Judged:
    named = row["event_id"], row["received_at"], row["source"]
    if row["state"] is None:
        return Judged(*named, None, Verdict.NOTHING, age=row["age"])
    state, newest = State(row["state"]), row["newest_line"]
    found = retention.judge(Standing(row["source"], state, row["age"], newest, row["is_expired"]))
    if found is not Verdict.NOTHING and newest > proven:
        return Judged(*named, state, Verdict.NOTHING, is_held_back=True, age=row["age"])
    return Judged(*named, state, found, age=row["age"])


def counts(content: Iterable[Judged], gone: Iterable[Judged]) -> Counts:
    bodies = Counter((each.source, each.state) for each in content)
    events = Counter((each.source, each.state) for each in gone)
    return {
        (source, state): Count(bodies[source, state], events[source, state])
        for source, state in bodies | events
        if state is not None
    }


async def expire(connection: Connection, found: Sequence[Judged], *, leaves: bool, deletes_lines: bool) -> Counts:
    """In the transaction that has locked their identities and judged them: only who locks its identity, too, can make a
    done event anything else, and what is on the shelf leaves by the state that was judged."""
    gone = await _remove(connection, [each for each in found if each.verdict is Verdict.ALL])
    left = {each.event_id for each in gone}
    content = [each for each in found if each.verdict is Verdict.CONTENT]
    emptied = {each.event_id for each in content}
    await _execute(connection, "retain_content", content, EMPTY_HEADERS, EMPTY_BODY)
    if leaves:
        await _execute(connection, "retain_keep", [one for one in found if one.event_id not in left | emptied])
    else:
        await _execute(connection, "retain_body", gone)
    if deletes_lines:
        await _execute(connection, "retain_lines", gone)
    await _count(connection, gone)
    return counts(content, gone)


async def _remove(connection: Connection, due: Sequence[Judged]) -> list[Judged]:
    """Those whose identity is gone now."""
    shelved = [each for each in due if each.state is not None and PLACES[each.state] is Place.SHELF]
    taken: set[bytes] = set()
    if shelved:
        named = [each.event_id for each in shelved], [each.state for each in shelved]
        rows = await connection.fetch(SQL["retain_shelf"], *named)
        taken = {row["event_id"] for row in rows}
        if held := {(row["source"], row["lane"]) for row in rows if row["lane"] is not None}:
            await lanes.advance(connection, held)  # what it blocked for a year goes on
    over = [each for each in due if each.state is State.DONE or each.event_id in taken]
    if not over:
        return []
    events = [each.event_id for each in over]
    left = {row[0] for row in await connection.fetch(SQL["retain_identity"], events)}
    if not taken <= left:
        # Taken off the shelf, and at work all the same: nothing of this is kept.
        raise InboxUnavailableError("an event was taken up while it was being removed; try again")
    for statement in ("retain_redelivery", "retain_erasure"):
        await connection.execute(SQL[statement], list(left))
    return [each for each in over if each.event_id in left]


async def _count(connection: Connection, gone: Sequence[Judged]) -> None:
    expired = Counter((f"expired:{each.state}", each.source) for each in gone)
    done = sum(each.state is State.DONE for each in gone)
    changes = [(*named, count) for named, count in expired.items()] + ([(State.DONE, "", -done)] if done else [])
    if changes:
        await connection.execute(SQL["retain_count"], *map(list, zip(*changes, strict=True)))


async def _execute(connection: Connection, statement: str, events: Sequence[Judged], *more: object) -> None:
    if events:
        times = [each.received_at for each in events]
        named = times, [each.event_id for each in events], min(times), max(times)
        await connection.execute(SQL[statement], *named, *more)

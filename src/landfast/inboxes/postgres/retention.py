"""The background's part: remove what is old enough, a few hundred events at a time, and drop weeks that are over.

A week leaves in five steps, and each can be repeated: nothing more is written into it (close), what must stay is moved
out of it and what leaves is counted (walk), it is taken off its parent without a lock that anybody waits for (detach),
and dropped. Which step is next is read from the database each time; `retention_plan` decides it.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

import asyncpg

from landfast.domain.errors import TurnLostError
from landfast.domain.lifecycle import PLACES, Place, State
from landfast.domain.retention import EXPIRES, TURN_LOST, Count, Counts, LastPass, Retention, Step, Verdict
from landfast.inboxes.postgres import expire
from landfast.inboxes.postgres.census import carry
from landfast.inboxes.postgres.connection import Connection
from landfast.inboxes.postgres.living import Living
from landfast.inboxes.postgres.retention_plan import (
    EARLIEST,
    LATEST,
    PROOFS,
    Close,
    Detach,
    Drop,
    Walk,
    WalkBodies,
    WalkLines,
    WalkProofs,
    Week,
    due_weeks,
    next_job,
)
from landfast.inboxes.postgres.statements import SQL

EVENTS_AT_ONCE = 500
"""Judged in one transaction: some 20 ms. Whoever wants one of them waits for no longer."""

LINES_AT_ONCE, PROOFS_AT_ONCE = 2_000, 5_000
COUNTED_AT_ONCE = 5_000
"""Looked at in one statement where nothing is changed."""

WRITERS_WITHIN_SECONDS = 2.0
"""That those have who began to write before a week was closed: a batch takes milliseconds."""
LOOK_EVERY_SECONDS = 0.02

DETACHES_WITHIN_SECONDS = 5.0
"""For a week that somebody reads, such as a backup. Nobody else waits meanwhile, and the next pass goes on with it."""

UNPROVEN_AT_MOST = 1_000
"""Lines of a week above the audit's mark. So many events can be kept beyond it; with more, something is wrong with the
ledger, and the week waits for whoever looks into that."""

LONGEST_SECONDS = 1_000 * 365 * 86_400.0
"""In place of for ever, which no calendar can take off a date."""

WAITING = tuple(state for state, place in PLACES.items() if place is Place.SHELF)

_READ_BY_OTHERS = (TimeoutError, asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError)


class Retaining(Living):
    _stuck: frozenset[str] = frozenset()
    """Weeks that somebody read when this pass wanted to drop them."""
    _began_at: datetime | None = None
    """The pass that this was."""

    async def take_retention_turn(
        self, holder: bytes, *, every: float, lasting: float, is_urgent: bool = False
    ) -> bool:
        async with self._connections.working() as connection:
            return await connection.fetchval(SQL["retain_turn"], holder, every, lasting, is_urgent) is not None

    async def end_retention_turn(self, holder: bytes, *, is_complete: bool) -> None:
        async with self._connections.working() as connection:
            await connection.execute(SQL["retain_turn_end"], holder, is_complete)

    async def last_pass(self) -> LastPass:
        async with self._connections.working() as connection:
            row = await connection.fetchrow(SQL["retain_look"])
        return LastPass() if row is None else LastPass(*row)

    async def retain(self, retention: Retention, *, holder: bytes, proven: int) -> Step | None:
        # Dead before the COMMIT: these were not looked at, and the next step begins with them.
        async with self._connections.transaction() as connection:
            turn = await connection.fetchrow(SQL["retain_hold"], holder)
            if turn is None:
                raise TurnLostError(TURN_LOST)
            is_carried = turn["began_at"] == self._began_at
            weeks, walks = await _parts(connection)
            stuck = self._stuck if is_carried else frozenset()
            job = next_job(weeks, walks, retention, now=turn["now"], began_at=turn["began_at"], stuck=stuck)
            if is_carried and isinstance(job, WalkBodies | WalkLines | WalkProofs):
                return await _walk(connection, job, retention, proven)
        if not is_carried:
            self._stuck, self._began_at = frozenset(), turn["began_at"]
            await carry(self._connections, worth=0)
            return Step("began")
        if isinstance(job, Close | Detach | Drop):
            async with self._connections.working() as connection:
                return await self._change(connection, job, proven)
        return None

    async def expiring(self, retention: Retention, *, proven: int) -> Counts:
        async with self._connections.working() as connection:
            weeks, _ = await _parts(connection)
            now = await connection.fetchval("SELECT landfast.clock()")
        spans = [(False, week.monday, week.end) for week in due_weeks(weeks, retention, now)]
        total: Counter[tuple[str, State, bool]] = Counter()
        for is_kept, start, end in [*spans, (True, EARLIEST, LATEST)]:
            at: tuple[datetime, bytes] = start, b""
            while True:
                async with self._connections.working() as connection:
                    batch = await connection.fetch(SQL["retain_batch"], is_kept, start, end, *at, COUNTED_AT_ONCE)
                    found = await _judged(connection, batch, retention, proven)
                if not batch:
                    break
                at = tuple(batch[-1])
                total.update(
                    (each.source, each.state, each.verdict is Verdict.ALL)
                    for each in found
                    if each.verdict is not Verdict.NOTHING and each.state is not None
                )
        named = {(source, state) for source, state, _ in total}
        return {(*name,): Count(total[*name, False], total[*name, True]) for name in sorted(named)}

    async def _change(self, connection: Connection, job: Close | Detach | Drop, proven: int) -> Step:
        match job:
            case Close():
                return await self._close(connection, job.week, proven)
            case Detach():
                return await self._detach(connection, job)
            case Drop():
                return await self._drop(connection, job.week)
            case _:
                assert_never(job)

    async def _close(self, connection: Connection, week: Week, proven: int) -> Step:
        span = week.monday, week.end
        if await connection.fetchval(SQL["retain_unproven"], *span, proven, UNPROVEN_AT_MOST) == UNPROVEN_AT_MOST:
            return self._leave(week, "its events are not proven")
        # Dead after it: what comes for this week is kept apart, and found there. The next step closes it again.
        await connection.execute(SQL["retain_close"], week.parent, week.end)
        # Who reads the new limit locks the table before; so whoever may have read the old one is seen here.
        writers = {row[0] for row in await connection.fetch(SQL["retain_writers"], week.parent)}
        for _ in range(int(WRITERS_WITHIN_SECONDS / LOOK_EVERY_SECONDS)):
            if not writers:
                await connection.execute(SQL["retain_walk_begin"], week.leaving)
                return Step(f"closed {week.name}")
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            writers &= {row[0] for row in await connection.fetch(SQL["retain_writers"], week.parent)}
        return self._leave(week, "somebody still writes into it")

    async def _detach(self, connection: Connection, job: Detach) -> Step:
        week = job.week
        if not job.finalizes and await _is_needed(connection, week):
            await connection.execute(SQL["retain_walk_begin"], week.leaving)
            return Step(f"{week.name} holds something that waits; it is looked through again")
        how = "FINALIZE" if job.finalizes else "CONCURRENTLY"
        statement = f"ALTER TABLE landfast.{week.parent}_weekly DETACH PARTITION landfast.{week.name} {how}"
        try:
            # Dead half-way: nobody new sees it, and the next pass finalizes.
            await connection.execute(statement, timeout=DETACHES_WITHIN_SECONDS)
        except _READ_BY_OTHERS:
            return self._leave(week, "somebody reads it")
        return Step(f"took off {week.name}")

    async def _drop(self, connection: Connection, week: Week) -> Step:
        try:
            async with connection.transaction():
                await connection.execute("SET LOCAL lock_timeout = '1s'")
                size = await connection.fetchval("SELECT pg_total_relation_size($1::regclass)", f"landfast.{week.name}")
                await connection.execute(f"DROP TABLE landfast.{week.name}")
                await connection.execute(SQL["retain_walk_forget"], week.name)
        except _READ_BY_OTHERS:
            return self._leave(week, "somebody reads it")
        return Step(f"dropped {week.name}", bytes_freed=size)

    def _leave(self, week: Week, why: str) -> Step:
        self._stuck |= {week.name}
        return Step(f"left {week.name} for the next pass: {why}", is_left=True)


async def _is_needed(connection: Connection, week: Week) -> bool:
    """The last look before a week goes. The walk has moved all of this out, and nothing came after it."""
    if week.parent != "body":
        return False
    found: bool = await connection.fetchval(SQL["retain_unmoved"], week.monday, week.end, WAITING)
    return found


async def _parts(connection: Connection) -> tuple[list[Week], dict[str, Walk]]:
    weeks = [Week(*row) for row in await connection.fetch(SQL["retain_parts"])]
    return weeks, {row["part"]: Walk(*row) for row in await connection.fetch(SQL["retain_walks"])}


async def _walk(
    connection: Connection, job: WalkBodies | WalkLines | WalkProofs, retention: Retention, proven: int
) -> Step:
    match job:
        case WalkBodies():
            return await _walk_bodies(connection, job, retention, proven)
        case WalkLines():
            return await _walk_lines(connection, job)
        case WalkProofs():
            return await _walk_proofs(connection, job, retention)
        case _:
            assert_never(job)


async def _walk_bodies(connection: Connection, job: WalkBodies, retention: Retention, proven: int) -> Step:
    if job.walk is None:
        await connection.execute(SQL["retain_walk_begin"], job.part)
    at = (job.start, b"") if job.walk is None else (job.walk.after_at, job.walk.after_id)
    batch = await connection.fetch(SQL["retain_batch"], job.is_kept, job.start, job.end, *at, EVENTS_AT_ONCE)
    if not batch:
        await connection.execute(SQL["retain_walk_end"], job.part)
        return Step(f"looked through all of {job.part.removesuffix(' leaves')}")
    # Operators meet here. What is judged afterwards sees what the last of them left.
    await connection.execute(SQL["lock"], [row["event_id"] for row in batch])
    # Lines above the mark `done` are not in the sum yet that what leaves is taken off.
    proven = min(proven, await connection.fetchval(SQL["done_mark"], State.DONE))
    found = await _judged(connection, batch, retention, proven)
    counts = await expire.expire(connection, found, leaves=job.leaves, deletes_lines=job.deletes_lines)
    await connection.execute(SQL["retain_walk_on"], job.part, *batch[-1], 0, _again_in(job, retention, found))
    # Those of a week that leaves are kept, and counted there.
    held_back = 0 if job.leaves else sum(each.is_held_back for each in found)
    return Step(f"looking through {job.part.removesuffix(' leaves')}", len(batch), counts, held_back=held_back)


def _again_in(job: WalkBodies, retention: Retention, found: Sequence[expire.Judged]) -> float | None:
    """Seconds until one of them is old enough that this walk was too early for: its last line is younger than its week,
    or will be. All others are due with their week."""
    if job.is_kept or job.leaves:
        return None
    late = [each for each in found if each.verdict is not Verdict.ALL and _is_late(each, job)]
    again = min((retention.due_in(each.source, each.state, each.age) for each in late), default=math.inf)
    return None if math.isinf(again) else again


def _is_late(event: expire.Judged, job: WalkBodies) -> bool:
    over_for = (job.now - job.end).total_seconds()
    return event.state not in EXPIRES or event.is_held_back or event.age < over_for


async def _judged(
    connection: Connection, batch: Sequence[asyncpg.Record], retention: Retention, proven: int
) -> list[expire.Judged]:
    if not batch:
        return []
    times = [row["received_at"] for row in batch]  # in order
    named = times, [row["event_id"] for row in batch], times[0], times[-1]
    return [expire.judged(row, retention, proven) for row in await connection.fetch(SQL["retain_judge"], *named)]


async def _walk_lines(connection: Connection, job: WalkLines) -> Step:
    week, walk = job.week, job.walk
    at = max(walk.after_at, week.monday), walk.after_id, walk.after_seq
    batch = await connection.fetch(SQL["retain_lines_batch"], week.monday, week.end, *at, LINES_AT_ONCE)
    if not batch:
        await connection.execute(SQL["retain_walk_end"], week.leaving)
        return Step(f"looked through all of {week.name}")
    events = list({row["event_id"] for row in batch})
    known = {tuple(row) for row in await connection.fetch(SQL["retain_known"], events)}
    stay = {(row["received_at"], row["event_id"]) for row in batch if (row["event_id"], row["received_at"]) in known}
    if stay:
        times, ids = map(list, zip(*stay, strict=True))
        await connection.execute(SQL["retain_lines_keep"], times, ids, min(times), max(times))
    await connection.execute(SQL["retain_walk_on"], week.leaving, *batch[-1], None)
    return Step(f"looking through {week.name}", len(batch))


async def _walk_proofs(connection: Connection, job: WalkProofs, retention: Retention) -> Step:
    if job.walk is None:
        await connection.execute(SQL["retain_walk_begin"], PROOFS)
    memory = min(max(ages.memory for ages in retention.all), LONGEST_SECONDS)
    after = b"" if job.walk is None else job.walk.after_id
    last = await connection.fetchval(SQL["retain_proofs"], after, PROOFS_AT_ONCE, memory)
    if last is None:
        await connection.execute(SQL["retain_walk_end"], PROOFS)
        return Step("looked through all proofs")
    await connection.execute(SQL["retain_walk_on"], PROOFS, EARLIEST, last, 0, None)
    return Step("looking through proofs")

"""Counting: what is stored, from counters; and the counters themselves, kept short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import asyncpg

from landfast.domain.census import (
    COUNTED,
    GAUGES,
    LARGEST,
    TOLD,
    BootCount,
    Census,
    Folded,
    SourceTally,
    StoredCount,
    tallies_of,
)
from landfast.domain.ids import BootId, InboxId
from landfast.domain.lifecycle import LISTED, State
from landfast.inboxes.postgres.audit import complete_to
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL

SILENT_AFTER = 10.0
"""Seconds without a report, of which there is one every second, until a boot counts as ended without goodbye."""

FOLDED_AFTER = 3_600.0
"""Seconds after its goodbye until a boot is folded into the totals: whatever it left in flight has come by then."""

FORGOTTEN_AFTER = 86_400.0
"""Seconds after its goodbye until nothing tells of a boot any more but what it counted."""

SILENT_FORGOTTEN_AFTER = 365 * 86_400.0
"""Seconds of silence after which a boot without a goodbye is over, too. A process that was stopped, or a machine that
slept, reports all that it counted since it began: what was folded meanwhile would be counted twice."""

SLOTS_FOLDED_AFTER = 86_400.0
"""Seconds of silence after which a boot counts in no row any more: a batch in flight is refused long before."""

CARRIED_FROM = 10_000
"""Lines above the mark that are worth moving it for: so many are summed in 3 ms."""

LINES_AT_ONCE = 200_000
"""Lines that one transaction carries forward: about 50 ms."""


class Counting:
    _connections: Connections

    async def census(self) -> Census:
        await carry(self._connections, worth=CARRIED_FROM)
        # One snapshot, or an event that moves between two counts would be counted twice or never. It is short: what is
        # stored, and what is done up to a mark, is counted already.
        async with self._connections.transaction(isolation="repeatable_read") as connection:
            inbox = await connection.fetchval(SQL["identity"])
            work = await connection.fetchrow(SQL["census_work"])
            shelf = await connection.fetch(SQL["census_shelf"], LISTED)
            unhandled = await connection.fetchval(SQL["census_unhandled"])
            done = await connection.fetchval(SQL["census_done"], State.DONE)
            folded = Folded((row["name"], row["source"], row["value"]) for row in await connection.fetch(SQL["totals"]))
            boots = _boots(
                await connection.fetch(SQL["census_boots"], SILENT_AFTER),
                await connection.fetch(SQL["census_tally"]),
                await connection.fetch(SQL["census_counted"]),
            )
            alive = await connection.fetchrow(SQL["census_alive"], SILENT_AFTER)
            meters = await connection.fetch(SQL["census_meters"], GAUGES, SILENT_AFTER, LARGEST)
        assert work is not None and alive is not None  # noqa: S101, PT018 - aggregates always have their row
        stored = sum((boot.stored for boot in boots), folded.stored)
        states = {
            State.READY: work["ready"],
            State.CLAIMED: work["claimed"],
            State.DONE: folded.done + done,
            State.UNHANDLED: unhandled,
        }
        return Census(
            inbox=InboxId(inbox),
            events=stored.events,
            states=states | {State(row["state"]): row["count"] for row in shelf},
            tallies=tallies_of(boots, folded),
            running_boots=alive["running"],
            unclean_boots=alive["unclean"],
            oldest_ready=work["oldest_ready"],
            meters=folded.with_meters({row["name"]: row["value"] for row in meters}),
            boots=tuple(boots),
            stored=stored,
            at=alive["now"],
            heard_since=alive["heard_since"],
            expired=folded.expired,
        )


async def carry(connections: Connections, *, worth: int) -> None:
    """Move forward what cannot change any more: boots that ended in order, and lines that are complete, where there are
    more of them than `worth`."""
    async with connections.working() as connection:
        # One statement each: dead before its COMMIT, nothing was folded.
        await connection.execute(SQL["fold_boots"], FOLDED_AFTER, SILENT_FORGOTTEN_AFTER)
        await connection.execute(SQL["fold_slots"], SLOTS_FOLDED_AFTER)
        await connection.execute(SQL["forget_boots"], FORGOTTEN_AFTER, SILENT_FORGOTTEN_AFTER, GAUGES, LARGEST)
        newest = await connection.fetchval(SQL["history_last"])
        if newest - await connection.fetchval(SQL["done_mark"], State.DONE) <= worth:
            return
        upto = await complete_to(connection)
    while await _carry_done(connections, upto):
        pass


async def _carry_done(connections: Connections, upto: int) -> bool:
    """Whether there was anything left. Dead before the COMMIT: neither the sum nor its mark has moved."""
    async with connections.transaction() as connection:
        after = await connection.fetchval(
            SQL["done_mark_lock"], State.DONE
        )  # of two at a time, the second finds it moved
        end = min(upto, after + LINES_AT_ONCE)
        if end <= after:
            return False
        await connection.execute(SQL["carry_done"], State.DONE, after, end)
        await connection.execute(SQL["done_mark_move"], State.DONE, end)
    return True


def _boots(
    known: Iterable[asyncpg.Record], tallies: Iterable[asyncpg.Record], counted: Iterable[asyncpg.Record]
) -> list[BootCount]:
    told: defaultdict[bytes, dict[str, SourceTally]] = defaultdict(dict)
    for row in tallies:
        told[row["boot"]][row["source"]] = SourceTally(**{name: row[name] for name in TOLD})
    stored = {row["boot"]: StoredCount(**{name: row[name] for name in COUNTED}) for row in counted}
    found = {
        row["boot"]: BootCount(
            BootId(row["boot"]),
            stored.pop(row["boot"], StoredCount()),
            told[row["boot"]],
            row["is_running"],
            row["ended"],
            row["owes"],
            row["waiting"],
        )
        for row in known
    }
    # One that died, or is still starting, before its first report.
    return [*found.values(), *(BootCount(BootId(boot), count) for boot, count in stored.items())]

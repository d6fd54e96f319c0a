"""`make bench-retention`, the SQLite part: weekly passes over a million events in a file, and what others feel of it.

Each week is written by SQL, because it is the passes that are measured: 98 of 100 events are done, one is a dead letter
and one is unhandled. The clock is moved from week to week. Then a pass removes the bodies of four weeks ago and
all of the week before that, while one client records, claims and settles in the same file.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from contextlib import closing
from pathlib import Path

import apsw

from bench import machine
from bench.beside import Load, Passing, in_turn, in_windows, say, show_load, show_steps
from bench.stage import ROOT
from landfast.app.retention import PASS_SHARE
from landfast.domain.lifecycle import State
from landfast.domain.retention import DAY_SECONDS, Ages, Retention
from landfast.inboxes.sqlite import SqliteInbox
from landfast.testing.clock import ManualClock, SeededChance

WEEKS = 5
WEEK_SECONDS = 7 * DAY_SECONDS
RETENTION = Retention(
    Ages(bodies=28 * DAY_SECONDS, dead=28 * DAY_SECONDS, unhandled=28 * DAY_SECONDS, memory=35 * DAY_SECONDS)
)
"""Bodies for four weeks, the rest for five: both kinds of steps are made in each pass."""
HOLDER = b"benching"
EVERYTHING = 2**62
ROWS_AT_ONCE = 20_000

_MADE = """
CREATE TEMPORARY TABLE made AS
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < :count)
SELECT
    (SELECT coalesce(max(seq), 0) FROM main.body) + n AS seq, randomblob(16) AS event_id,
    :from + (:first + n) * :step AS received_at,
    CASE n % 100 WHEN 1 THEN 'dead' WHEN 2 THEN 'unhandled' ELSE 'done' END AS state
FROM number
"""
_FILL = (
    "INSERT INTO identity (event_id, received_at, seq) SELECT event_id, received_at, seq FROM made ORDER BY event_id",
    """
    INSERT INTO body (seq, event_id, received_at, source, key, type, headers, body)
    SELECT seq, event_id, received_at, 'stripe', hex(event_id), 'invoice.paid',
        CAST('[["content-type","application/json"]]' AS BLOB), CAST(replace(hex(zeroblob(:size)), '00', 'x') AS BLOB)
    FROM made
    """,
    """
    INSERT INTO shelf (body_seq, event_id, state, received_at, source, type, run, forced, suspect, crashes, tries,
        handler, reason, error, message)
    SELECT seq, event_id, state, received_at, 'stripe', 'invoice.paid', 1, 0, 0, 0, '{}', 'book', '', '', ''
    FROM made WHERE state <> 'done'
    """,
    """
    INSERT INTO history (received_at, event_id, at, run, signal, state, attempts, reason, who, handlers)
    SELECT received_at, event_id, received_at + 1000000, 1, 'finish', state, '[]', '', '', 'book' FROM made
    """,
    """
    INSERT INTO total (name, source, value) VALUES ('recorded', '', :count)
    ON CONFLICT (name, source) DO UPDATE SET value = value + excluded.value
    """,
)


class FastForward(ManualClock):
    """Weeks pass in a moment; how long a step takes is measured as it is."""

    def monotonic(self) -> float:
        return time.monotonic()


class Months:
    def __init__(self, path: Path, weekly: int, size: int) -> None:
        self.path = path
        self.weekly = weekly
        self.size = size
        self.clock = FastForward()
        self.inbox = SqliteInbox(path, clock=self.clock, chance=SeededChance(1))
        self.keeper = SqliteInbox(path, clock=self.clock, chance=SeededChance(2))
        """As another process would, over a connection of its own."""
        self.weeks = 0
        self.live = 0
        """Events that the client has recorded since the last week was filled: that week is smaller by as many."""

    def fill(self) -> None:
        """The next week, and its end."""
        count = max(self.weekly - self.live, 1)
        begin = int(self.clock.now().timestamp() * 1e6)
        step = int(6 * DAY_SECONDS * 1e6 / count)
        with closing(apsw.Connection(str(self.path))) as connection:
            for first in range(0, count, ROWS_AT_ONCE):
                part = min(ROWS_AT_ONCE, count - first)
                asked = {"from": begin, "first": first, "step": step, "count": part, "size": self.size}
                connection.execute(_MADE, asked)
                with connection:
                    for statement in _FILL:
                        connection.execute(statement, {name: asked[name] for name in asked if f":{name}" in statement})
                connection.execute("DROP TABLE temp.made")
        self.weeks += 1
        self.live = 0
        self.clock.advance(WEEK_SECONDS)

    async def round(self, asked: argparse.Namespace) -> None:
        without, beside = (Load(self.inbox, self.size) for _ in range(2))
        without.number -= 10**9
        await self.keeper.take_retention_turn(HOLDER, every=0, lasting=WEEK_SECONDS)
        passing = Passing(lambda: self.keeper.retain(RETENTION, holder=HOLDER, proven=EVERYTHING), asked.share)
        with in_turn(asked.turns):
            await in_windows(without, beside, passing, self.clock.now, windows=asked.windows, seconds=asked.seconds)
        with in_turn(asked.turns):
            await passing.go_on(3600, share=1.0)
        await self.keeper.end_retention_turn(HOLDER, is_complete=True)
        self.live += without.recorded + beside.recorded
        room, census = await self.inbox.room(), await self.inbox.census()
        here = sum(census.states.values())
        exact = "exact" if census.events == here + sum(census.expired.values()) else "NOT EXACT"
        gone = f"{passing.events:,} events and {passing.bodies:,} bodies left"
        say(f"  week {self.weeks}: {gone}, {sum(passing.took):.0f} s at work; {exact}")
        free = f"of it {room.free_inside / 2**20:,.0f} MB free inside"
        say(f"    {here:,} events, {census.states[State.DONE]:,} of them done, and {room.used / 2**20:,.0f} MB, {free}")
        show_steps(passing)
        show_load("without", without)
        show_load("beside", beside)


async def measure(folder: Path, asked: argparse.Namespace) -> None:
    months = Months(folder / "inbox.db", asked.events // WEEKS, asked.size)
    for inbox in (months.inbox, months.keeper):
        await inbox.open()
    try:
        await months.inbox.migrate()
        began = time.perf_counter()
        for _ in range(WEEKS):
            with in_turn(asked.turns):
                await asyncio.to_thread(months.fill)
            say(f"filled week {months.weeks}")
        room = await months.inbox.room()
        made = f"{months.weekly * WEEKS:,} events in {WEEKS} weeks, {room.used / 2**20:,.0f} MB"
        say(f"SQLite, {made}, made in {time.perf_counter() - began:.0f} s; the first passes find more that is old")
        for _ in range(asked.rounds):
            with in_turn(asked.turns):
                await asyncio.to_thread(months.fill)
            await months.round(asked)
    finally:
        for inbox in (months.inbox, months.keeper):
            await inbox.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retention_sqlite", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="that are there when the first pass begins")
    parser.add_argument("--rounds", type=int, default=4, help="weeks, each with a pass")
    parser.add_argument("--size", type=int, default=1_300, help="bytes of a body")
    parser.add_argument(
        "--share", type=float, default=PASS_SHARE, help="of the time that a pass works, as a worker's does at first"
    )
    parser.add_argument("--windows", type=int, default=4, help="of each kind, with and without a pass, in turn")
    parser.add_argument(
        "--seconds", type=float, default=15, help="of one of them; the rest of the pass is not measured"
    )
    parser.add_argument(
        "--turns", type=Path, help="lock this file while filling and measuring: another benchmark does so, too"
    )
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=machine.on_disk(ROOT)))
    try:
        asyncio.run(measure(folder, parser.parse_args()))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

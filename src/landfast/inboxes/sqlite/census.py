"""Counting: what is stored, from counters; and the counters themselves, kept short."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import apsw

from landfast.domain.census import (
    ADOPTED_FROM,
    COUNTED,
    GAUGES,
    LARGEST,
    METER,
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
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock

SILENT_AFTER = 10.0
"""Seconds without a report, of which there is one every second, until a boot counts as ended without goodbye."""

FOLDED_AFTER = 3_600.0
"""Seconds after its goodbye until a boot is folded into the totals: whatever it left in flight has come by then."""

FORGOTTEN_AFTER = 86_400.0
"""Seconds after its goodbye until nothing tells of a boot any more but what it counted."""

SILENT_FORGOTTEN_AFTER = 365 * 86_400.0
"""Seconds of silence after which a boot without a goodbye is over, too. A process that was stopped, or a machine that
slept, reports all that it counted since it began: what was folded meanwhile would be counted twice."""

CARRIED_FROM = 10_000
"""Lines above the mark that are worth moving it for: so many are summed in a few milliseconds."""

LINES_AT_ONCE = 50_000
"""Lines that one transaction carries forward, about 20 ms: intake waits for it."""


class Counting:
    _file: SqliteFile
    _clock: Clock

    async def census(self) -> Census:
        while await self._carry():
            pass
        return await self._census()

    @in_thread
    def _carry(self) -> bool:
        """Move forward what cannot change any more: boots that ended in order, and lines, which are complete because
        there is one writer. Whether there is more. Crash before the COMMIT: neither a sum nor its mark has moved."""
        now = rows.micros(self._clock.now())
        folds, forgets = (
            {"ended": now - rows.micros_in(age), "silent": now - rows.micros_in(SILENT_FORGOTTEN_AFTER)}
            for age in (FOLDED_AFTER, FORGOTTEN_AFTER)
        )
        with self._file.reading() as connection:
            ((after,),), ((newest,),) = ask(connection, "done_mark", (State.DONE,)), ask(connection, "history_last")
            is_behind = bool(newest - after > CARRIED_FROM)
            is_over = ask(connection, "fold_boots", folds) or ask(connection, "forget_boots", forgets)
            if not is_behind and not is_over:
                return False
        with self._file.writing(durable=False) as connection:
            for (boot,) in ask(connection, "fold_boots", folds):
                _fold(connection, boot)
            for (boot,) in ask(connection, "forget_boots", forgets):
                _forget(connection, boot)
            if is_behind:
                ((after,),) = ask(connection, "done_mark", (State.DONE,))  # another process may have moved it
                upto = min(newest, after + LINES_AT_ONCE)
                if upto > after:
                    ask(connection, "carry_done", {"done": State.DONE, "after": after, "upto": upto})
                    ask(connection, "done_mark_move", {"name": State.DONE, "seq": upto})
        return is_behind

    @in_thread
    def _census(self) -> Census:
        now = rows.micros(self._clock.now())
        asked = {"silent_since": now - rows.micros_in(SILENT_AFTER)}
        with self._file.reading() as connection:
            ((inbox,),) = ask(connection, "identity")
            ((ready, claimed, oldest),) = ask(connection, "census_work")
            shelf = ask(connection, "census_shelf", {"states": json.dumps(LISTED)})
            ((unhandled,),) = ask(connection, "census_unhandled")
            ((done,),) = ask(connection, "census_done", {"done": State.DONE})
            folded = Folded(ask(connection, "totals"))
            boots = _boots(connection, asked)
            ((running, unclean, heard_since),) = ask(connection, "census_alive", asked)
            meters = ask(connection, "census_meters", asked)
        counted: Counter[str] = Counter()
        for name, value, is_running in meters:
            if is_running or name not in GAUGES:
                counted[name] = max(counted[name], value) if name in LARGEST else counted[name] + value
        stored = sum((boot.stored for boot in boots), folded.stored)
        states = {
            State.READY: ready,
            State.CLAIMED: claimed,
            State.DONE: folded.done + done,
            State.UNHANDLED: unhandled,
        }
        return Census(
            inbox=InboxId(inbox),
            events=stored.events,
            states=states | {State(state): count for state, count in shelf},
            expired=folded.expired,
            tallies=tallies_of(boots, folded),
            running_boots=running,
            unclean_boots=unclean,
            oldest_ready=rows.moment_or_none(oldest),
            meters=folded.with_meters(counted),
            boots=tuple(boots),
            stored=stored,
            at=rows.moment(now),
            heard_since=rows.moment_or_none(heard_since),
        )


def _boots(connection: apsw.Connection, asked: dict[str, int]) -> list[BootCount]:
    told: defaultdict[bytes, dict[str, SourceTally]] = defaultdict(dict)
    for boot, source, *counts in ask(connection, "census_tally"):
        told[boot][source] = SourceTally(*counts)
    stored = {boot: StoredCount(*counts) for boot, *counts in ask(connection, "census_counted")}
    found = {
        boot: BootCount(
            BootId(boot), stored.pop(boot, StoredCount()), told[boot], bool(running), bool(ended), bool(owes), waiting
        )
        for boot, running, ended, owes, waiting in ask(connection, "census_boots", asked)
    }
    # One that died, or is still starting, before its first report.
    return [*found.values(), *(BootCount(BootId(boot), count) for boot, count in stored.items())]


def _fold(connection: apsw.Connection, boot: bytes) -> None:
    for slot, source, stored, *drains in ask(connection, "fold_counted", (boot,)):
        recorded, drained = (0, stored) if slot < 0 else (stored, 0)
        for name, value in zip(COUNTED, (recorded, drained, *drains), strict=True):
            ask(connection, "total_add", (name, source, value))
    for source, *counts in ask(connection, "fold_tally", (boot,)):
        for name, value in zip(TOLD, counts, strict=True):
            ask(connection, "total_add", (f"told:{name}", source, value))


def _forget(connection: apsw.Connection, boot: bytes) -> None:
    for name, value in ask(connection, "forget_meters", (boot,)):
        if name not in GAUGES and not name.startswith(ADOPTED_FROM):
            statement = "total_largest" if name in LARGEST else "total_add"
            ask(connection, statement, (f"{METER}{name}", "", value))
    ask(connection, "forget_boot", (boot,))

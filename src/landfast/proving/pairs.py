"""Two events: one after the other in both orders, and one overtaking the other at each statement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from landfast.domain.errors import HandlerEndedTransactionError, SwallowedDatabaseError
from landfast.proving.bench import Attempt, Station
from landfast.proving.checks import Case, blame
from landfast.proving.determinism import written
from landfast.proving.report import Kind
from landfast.proving.samples import Sample, next_of_same, of_other_objects, with_other_values
from landfast.proving.tables import Snapshot, differences
from landfast.proving.user_code import Place, place_of_function
from landfast.proving.watching import Plan, Run, Sent

VARIANTS_AT_MOST = 6
"""Values that are changed, one at a time: a handler reads a few of a body's fields."""

OVERTAKEN_AT_MOST = 12
"""Statements before which the other event overtakes."""

LOOK_SECONDS = 0.02
OVERTAKES_WITHIN_SECONDS = 5.0
"""For the overtaking event, which mostly takes milliseconds, or waits for a lock of the other's."""

TRIES = 3
"""Of an event that met a conflict: a worker tries again, too."""

_REPEATS = re.compile(r"updat|chang|modif|edit|renam|status|progress|adjust|sync|\*", re.IGNORECASE)
"""Types whose events come again and again about one object. `created` and `succeeded` come once."""


@dataclass(slots=True)
class Serial:
    """Where two events lead, one after the other."""

    after: Snapshot
    born: set[Any]
    runs: list[Run]


async def examine_order(case: Case) -> None:
    """Whichever comes first, the end is the same."""
    await _swapped(case, of_other_objects(case.sample), "of other objects")
    if not _REPEATS.search(case.handler.pattern) and not _REPEATS.search(case.sample.type):
        return
    values = [value for sent in written(case.alone.run) for value in _values(sent.args)]
    for number, (path, other) in enumerate(with_other_values(case.sample, values)):
        if number >= VARIANTS_AT_MOST:
            break
        await _swapped(case, other, f"of the same object with another {path}")


async def _swapped(case: Case, other: Sample, which: str) -> None:
    case.progress(f"two events {which}, in both orders")
    there = await _serial(case, case.sample, other)
    back = await _serial(case, other, case.sample)
    if there is None or back is None:
        case.report.note(f"two events {which} were not tried: the handler fails with the second one")
        return
    unlike = differences(there.after, back.after, case.wobbly, there.born | back.born)
    if unlike:
        what = f"two events {which}, in one order and in the other, leave something else in {unlike[0]}"
        case.report.add(Kind.ORDER, _place(case, unlike[0], there.runs), what)


async def examine_concurrency(case: Case) -> None:
    """While one waits before a statement, the other runs as far as it can; the end is as if they had come one after the
    other."""
    case.progress("two events of the same object")
    other = next_of_same(case.sample)
    serial = await _serial(case, case.sample, other, is_blamed=True)
    if serial is None:
        other = of_other_objects(case.sample)
        serial = await _serial(case, case.sample, other)
    back = None if serial is None else await _serial(case, other, case.sample)
    if serial is None or back is None:
        case.report.note("two events at the same time were not tried: the handler fails with the second one")
        return
    if case.bench.has_one_writer:
        return  # its transactions run one after the other
    for sent in case.sent[:OVERTAKEN_AT_MOST]:
        case.progress(f"two events at the same time, at statement {sent.number + 1}")
        unlike = await _overtaken(case, other, sent, (serial, back))
        if unlike:
            write = next((each for each in case.sent if each.is_write and each.number >= sent.number), sent)
            what = f"the other event came between, before {write.shown}: {unlike}"
            case.report.add(Kind.LOST_UPDATE, write.place, what)
            return


async def _overtaken(case: Case, other: Sample, at: Sent, serials: tuple[Serial, Serial]) -> str:
    """How the end differs from either order; empty where it does not."""
    async with case.bench.station(case.report) as station:
        slow = station.new_run(case.handler, Plan("pause", at.number))
        first = asyncio.create_task(station.attempt(case.handler, case.sample, run=slow))
        reached = asyncio.create_task(slow.paused.wait())
        await asyncio.wait({first, reached}, return_when=asyncio.FIRST_COMPLETED)
        second = asyncio.create_task(station.attempt(case.handler, other))
        try:
            await _until_done_or_blocked(case, second)
        finally:
            slow.go_on.set()
            reached.cancel()
        ended = [await first, await second]
        if not await _retried(case, station, ended, (case.sample, other)):
            return ""
        after = await case.bench.copies.snapshot()
        born = {value for run in station.runs for value in run.born}
    found = [differences(each.after, after, case.wobbly, each.born | born) for each in serials]
    return found[0][0] if all(found) else ""


async def _until_done_or_blocked(case: Case, second: asyncio.Task[Attempt]) -> None:
    deadline = asyncio.get_running_loop().time() + OVERTAKES_WITHIN_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        done, _ = await asyncio.wait({second}, timeout=LOOK_SECONDS)
        if done or await case.bench.copies.is_blocked():
            return


async def _retried(case: Case, station: Station, ended: list[Attempt], samples: tuple[Sample, Sample]) -> bool:
    """Whether both got to their end: a worker tries what failed again."""
    for attempt, sample in zip(ended, samples, strict=True):
        tries, last = 1, attempt
        while not last.went_well and tries < TRIES:
            last, tries = await station.attempt(case.handler, sample), tries + 1
        if not last.went_well:
            return False
    return True


async def _serial(case: Case, first: Sample, second: Sample, *, is_blamed: bool = False) -> Serial | None:
    """None where one of them fails."""
    async with case.bench.station(case.report) as station:
        for sample in (first, second):
            attempt = await station.attempt(case.handler, sample)
            if not attempt.went_well:
                if is_blamed and isinstance(attempt.error, SwallowedDatabaseError | HandlerEndedTransactionError):
                    blame(attempt, case.handler, case.report)
                return None
        after = await case.bench.copies.snapshot()
        return Serial(after, {value for run in station.runs for value in run.born}, station.runs)


def _place(case: Case, table: str, runs: Iterable[Run]) -> Place:
    """The last write that names the table."""
    name = table.partition(" ")[0].rpartition(".")[2]
    named = [sent for run in runs for sent in written(run) if re.search(rf"\b{re.escape(name)}\b", sent.query)]
    return named[-1].place if named else place_of_function(case.handler.function)


def _values(args: Any) -> Iterable[Any]:
    for each in args:
        if isinstance(each, list | tuple):
            yield from _values(each)
        elif isinstance(each, dict):
            yield from _values(each.values())
        else:
            yield each

"""One event, run in every way in which a worker may come to run it: alone, again, with a crash at each statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from landfast.domain.errors import HandlerEndedTransactionError, SwallowedDatabaseError, UserError
from landfast.ledgers import control
from landfast.processing.handlers.error_text import line_of
from landfast.processing.handlers.registry import Handler
from landfast.proving.bench import Attempt, Bench
from landfast.proving.determinism import compare, find_present
from landfast.proving.report import Kind, Report
from landfast.proving.samples import Sample
from landfast.proving.tables import Column, Snapshot, changed, differences, wobbly_columns
from landfast.proving.user_code import place_of_error, place_of_function
from landfast.proving.watching import Action, Plan, Sent

CRASHES_AT_MOST = 40
"""Statements at which a crash is tried, from both ends: a loop over a thousand rows crashes alike in its middle."""

Progress = Callable[[str], None]


@dataclass(slots=True)
class Case:
    """A handler, an event, and what is known of them by now."""

    bench: Bench
    handler: Handler
    sample: Sample
    report: Report
    progress: Progress
    after: Snapshot
    """What is in the tables once it has run."""
    alone: Attempt
    wobbly: set[Column]
    """Columns that differ between two equal runs."""
    sent: list[Sent]
    """Its statements, once whatever it looks up only once is known."""


async def examine_alone(
    bench: Bench, handler: Handler, sample: Sample, report: Report, progress: Progress
) -> Case | None:
    """None where it does not get to its end: nothing else can be said then."""
    progress("alone")
    async with bench.station(report) as station:
        alone = await station.attempt(handler, sample)
        after = await bench.copies.snapshot()
        report.statements = len(alone.run.sent)
        if not alone.went_well or alone.run.refused:
            blame(alone, handler, report)
            report.note("the other checks have to wait: with this it does not get to its end")
            return None
        again = await station.attempt(handler, sample)
        if again.run.sent:
            report.add(Kind.LEFT_BEHIND, place_of_function(handler.function), "the same event ran it twice")
    find_present(alone.run, sample, report)
    return Case(bench, handler, sample, report, progress, after, alone, set(), alone.run.sent)


async def examine_again(case: Case) -> None:
    """The same event on an equal copy, in the same process."""
    case.progress("again")
    async with case.bench.station(case.report) as station:
        second = await station.attempt(case.handler, case.sample)
        if not second.went_well:
            blame(second, case.handler, case.report)
            return
        case.sent = second.run.sent
        compare(case.alone.run, second.run, case.report, when="the second time")
        case.wobbly |= wobbly_columns(case.after, await case.bench.copies.snapshot())


async def examine_crashes(case: Case) -> None:
    """The process is gone before a statement or after it; the event is run again, as after a restart."""
    sent = case.sent
    actions: tuple[Action, ...] = ("crash_before", "crash_after")
    for number in _chosen(case, len(sent)):
        for action in actions:
            case.progress(f"crash {action.removeprefix('crash_')} statement {number + 1} of {len(sent)}")
            await _crash(case, Plan(action, number), sent[number])


async def _crash(case: Case, plan: Plan, at: Sent) -> None:
    when = f"a crash {plan.action.removeprefix('crash_')} {at.shown}"
    async with case.bench.station(case.report) as station:
        crashed = await station.attempt(case.handler, case.sample, plan)
        if not crashed.run.is_dead:
            return  # this time it sent fewer
        if left := changed(case.bench.before, await case.bench.copies.snapshot()):
            _left_behind(case, crashed, left, when)
            return
        await case.bench.copies.rewind()
        second = await station.attempt(case.handler, case.sample)
        if not second.went_well:
            what = f"after {when} it failed with {_told(second)}"
            case.report.add(Kind.MODULE_STATE, place_of_error(second.error or KeyError()) or at.place, what)
            return
        compare(case.alone.run, second.run, case.report, when=f"after {when}")
        unlike = differences(case.after, await case.bench.copies.snapshot(), case.wobbly)
        if unlike and not case.report.has(Kind.CHANCE, Kind.CLOCK, Kind.MODULE_STATE, Kind.OUTSIDE_WRITE):
            case.report.add(Kind.MODULE_STATE, at.place, f"after {when} it left something else in {unlike[0]}")


def _left_behind(case: Case, crashed: Attempt, left: list[str], when: str) -> None:
    """With its line, if the write was seen; where it was found already, that is enough."""
    if case.report.has(Kind.OUTSIDE_WRITE, Kind.ENDS_TRANSACTION):
        return
    last = crashed.run.sent[-1].place if crashed.run.sent else place_of_function(case.handler.function)
    case.report.add(Kind.LEFT_BEHIND, last, f"after {when} there are rows in {', '.join(left)}")


async def examine_errors(case: Case) -> None:
    """The database answers a statement with an error, as it may at any time. The handler must not go on as if nothing
    had happened."""
    sent = case.sent
    for number in _chosen(case, len(sent)):
        at = sent[number]
        if at.is_guarded or at.is_outside or at.query.startswith("stage ") or control.verb(at.query) == "SAVEPOINT":
            continue
        case.progress(f"an error at statement {number + 1} of {len(sent)}")
        async with case.bench.station(case.report) as station:
            failed = await station.attempt(case.handler, case.sample, Plan("fail", number))
        if failed.run.failed is None:
            continue
        if isinstance(failed.error, SwallowedDatabaseError) or (failed.went_well and at.is_write):
            what = f"{at.shown} failed, and the handler went on and returned"
            case.report.add(Kind.SWALLOWED_ERROR, failed.run.failed.place, what)


def blame(attempt: Attempt, handler: Handler, report: Report) -> None:
    """What an attempt that ended badly says about its handler."""
    error, sent = attempt.error, attempt.run.sent
    if attempt.run.refused or error is None:
        return
    place = place_of_error(error)
    ends = [each for each in sent if _is_end(each)]
    # A COMMIT meets the guard row, and the database says so in its own words.
    if isinstance(error, HandlerEndedTransactionError) or (ends and ends[-1].place == place):
        where = place or (ends or sent)[-1].place if sent else place_of_function(handler.function)
        shown = ends[-1].shown if ends else "COMMIT or ROLLBACK"
        report.add(Kind.ENDS_TRANSACTION, where, f"it sent {shown}: {error}")
    elif isinstance(error, SwallowedDatabaseError):
        failed = [each for each in sent if each.error is not None]
        if failed:
            what = f"{failed[-1].shown} failed with {line_of(failed[-1].error or error)}, and the handler went on"
            report.add(Kind.SWALLOWED_ERROR, failed[-1].place, what)
        else:
            report.add(Kind.SWALLOWED_ERROR, place_of_function(handler.function), str(error))
    elif isinstance(error, UserError) and "connection of its own" in str(error):  # the ledger has noticed it itself
        report.add(Kind.OUTSIDE_WRITE, place or place_of_function(handler.function), str(error))
    else:
        report.add(Kind.FAILS, place or place_of_function(handler.function), line_of(error))


def _is_end(sent: Sent) -> bool:
    verb = control.verb(sent.query)
    return verb in {"COMMIT", "END", "ABORT", "BEGIN", "START"} or (
        verb == "ROLLBACK" and " TO " not in sent.query.upper()
    )


def _told(attempt: Attempt) -> str:
    return line_of(attempt.error) if attempt.error is not None else ""


def _chosen(case: Case, count: int) -> list[int]:
    if count <= CRASHES_AT_MOST:
        return list(range(count))
    half = CRASHES_AT_MOST // 2
    case.report.note(f"of its {count} statements the first {half} and the last {half} were tried")
    return [*range(half), *range(count - half, count)]

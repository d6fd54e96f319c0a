"""Two runs of one handler at one event, on two equal copies: whatever it writes must be the same."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from landfast.proving.report import Kind, Report
from landfast.proving.samples import Sample
from landfast.proving.user_code import Place
from landfast.proving.watching import Run, Sent

NEAR = timedelta(hours=1)
"""A time so close to now is now: samples are days old."""

_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
"""In which programs count since 1970: seconds and their thousandths."""

_DRAWN = re.compile(r"[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def compare(first: Run, second: Run, report: Report, *, when: str) -> None:
    """`when` says what the second run was."""
    one, other = written(first), written(second)
    for left, right in zip(one, other, strict=False):
        if left.query != right.query:
            _add(report, left, right, left.query, right.query, (first, second), when)
            return
        for mine, theirs in zip(_flat(left.args), _flat(right.args), strict=False):
            if mine != theirs and not _is_answer(mine, theirs, first, second):
                _add(report, left, right, mine, theirs, (first, second), when)
    if len(one) != len(other):
        odd = (one if len(one) > len(other) else other)[min(len(one), len(other))]
        what = (
            f"{when} it sent {len(other)} writes, and {len(one)} the first time; the first that differs is {odd.shown}"
        )
        report.add(Kind.MODULE_STATE, odd.place, what)


def find_present(run: Run, sample: Sample, report: Report) -> None:
    """Values that are the present moment: two runs in the same second, or on the same day, would not tell. An event
    that came in a moment ago brings such values itself."""
    clocks = [place for kind, place in run.hints if kind is Kind.CLOCK]
    if not clocks:
        return
    for sent in written(run):
        for value in _flat(sent.args):
            if is_present(value) and value not in run.answers and not _is_of_event(value, sample):
                report.add(
                    Kind.CLOCK, sent.place, f"{sent.shown} is given {_shown(value)}{_read_at(clocks, sent.place)}"
                )


def _is_of_event(value: Any, sample: Sample) -> bool:
    return value in {sample.occurred_at, sample.received_at} or str(value).encode() in sample.body


def written(run: Run) -> list[Sent]:
    """What it changed, or asked for."""
    return [sent for sent in run.sent if sent.is_write]


def is_present(value: Any) -> bool:
    """Whether a value is about now, in any of the ways in which programs write that."""
    now = datetime.now(UTC)
    if isinstance(value, datetime):
        return any(abs(each - now) < NEAR for each in _aware(value))
    if isinstance(value, date):
        return value in {now.date(), datetime.now().astimezone().date()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(abs(value / unit - now.timestamp()) < NEAR.total_seconds() for unit in _UNITS)
    if isinstance(value, str) and re.match(r"\d{4}-\d{2}-\d{2}", value):
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            return False
        return is_present(parsed.date() if len(value) == 10 else parsed)
    return False


def _aware(value: datetime) -> Sequence[datetime]:
    """One without a zone may be in ours, or in UTC."""
    return [value] if value.tzinfo else [value.astimezone(), value.replace(tzinfo=UTC)]


def _add(report: Report, left: Sent, right: Sent, mine: Any, theirs: Any, runs: tuple[Run, Run], when: str) -> None:
    hints = [hint for run in runs for hint in run.hints]
    chances = [place for kind, place in hints if kind is Kind.CHANCE]
    clocks = [place for kind, place in hints if kind is Kind.CLOCK]
    kind, places = _cause(mine, theirs, chances, clocks)
    if kind is None:
        return
    where = _read_at(places, left.place, "drawn" if kind is Kind.CHANCE else "read")
    what = f"{left.shown} was given {_shown(mine)}, and {when} {_shown(theirs)}{where}"
    if mine == left.query:
        what = f"it sent {left.shown}, and {when} {right.shown}"
    report.add(kind, left.place, what)


def _cause(mine: Any, theirs: Any, chances: list[Place], clocks: list[Place]) -> tuple[Kind | None, list[Place]]:
    # By no code of the user's, it is an ORM's default, which is as good as the database's own.
    if is_present(mine):
        return (Kind.CLOCK if clocks else None), clocks
    if _is_drawn(mine) or _is_drawn(theirs):
        return (Kind.CHANCE if chances else None), chances
    if chances:
        return Kind.CHANCE, chances
    return (Kind.CLOCK if clocks else Kind.MODULE_STATE), clocks


def _is_drawn(value: Any) -> bool:
    if isinstance(value, bytes):
        return len(value) >= 8 and not value.isascii()
    return isinstance(value, uuid.UUID) or (isinstance(value, str) and bool(_DRAWN.fullmatch(value)))


def _is_answer(mine: Any, theirs: Any, first: Run, second: Run) -> bool:
    return mine in first.answers and theirs in second.answers


def _read_at(places: list[Place], sent_at: Place, verb: str = "read") -> str:
    others = [place for place in dict.fromkeys(places) if place != sent_at]
    return f" ({verb} at {others[0]})" if others else ""


def _flat(args: Any) -> Iterator[Any]:
    if isinstance(args, Mapping):
        for name in sorted(args, key=str):
            yield from _flat(args[name])
    elif isinstance(args, list | tuple | set | frozenset):
        for each in args:
            yield from _flat(each)
    else:
        try:
            hash(args)
        except TypeError:
            yield repr(args)
        else:
            yield args


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""What fails alike, grouped by error, handler and line: how much lately, each number with the filter behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, FilterText
from landfast.domain.filter import parse, text_of
from landfast.domain.lifecycle import State
from landfast.domain.rates import Meter, Rate
from landfast.operations.failure_groups import FailureGroup, dead_ones, delayed_ones, failure_groups

SPANS = {"1h": timedelta(hours=1), "3h": timedelta(hours=3), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
"""The columns of the table of errors."""

LOOKED_AT_MOST = 3_000
"""Events that are grouped, the newest ones: some 100 ms."""


class FailuresAsked(Asked):
    filter: FilterText = ""
    is_failing: bool = False
    """Those that are tried again by themselves, in place of dead letters."""


class Group(Answered):
    """Events that failed alike."""

    state: str
    source: str
    error: str
    handler: str
    line: str
    count: int
    first: datetime
    last: datetime
    message: str
    """Of the newest, without what is hidden."""
    newest: str
    """The id of the newest event."""
    filter: str
    """That finds them again."""
    command: str
    """What does something about all of them, to be typed."""


class Groups(Answered):
    groups: Sequence[Group]
    """Most first."""
    looked_at: int
    is_all: bool
    """False where more failed than were looked at: the newest were."""


class ErrorsAsked(Asked):
    filter: FilterText = ""
    """`source:` and `handler:` alone."""


class ErrorRow(Answered):
    source: str
    handler: str
    error: str
    counts: Mapping[str, int]
    """Runs that failed so, by span: 1h, 3h, 24h, 7d."""
    filters: Mapping[str, str]
    """That finds what is left of them: what waits or is dead."""


class Errors(Answered):
    at: datetime
    rows: Sequence[ErrorRow]
    """Most in 24 hours first."""
    series: Mapping[str, Sequence[int]]
    """By error: failed runs in each hour of the last day, the oldest first."""


async def failures(desk: Desk, asked: FailuresAsked) -> Groups:
    """Dead letters, or what is tried again by itself, grouped by error, handler and line of your code."""
    read = delayed_ones if asked.is_failing else dead_ones
    wanted = desk.shown(read(asked.filter, now=desk.now(), command="failures"))
    found = await failure_groups(desk.archive, wanted, at_most=LOOKED_AT_MOST)
    return Groups(groups=[_group(desk, one) for one in found.groups], looked_at=found.looked_at, is_all=found.is_all)


async def errors(desk: Desk, asked: ErrorsAsked) -> Errors:
    """How often each handler failed with each error: in 1, 3 and 24 hours and 7 days, and hour by hour."""
    now = desk.now()
    wanted = parse(asked.filter, now=now)
    rates = await desk.archive.rates(now - SPANS["7d"], meters=[Meter.FAILED], source=wanted.source)
    rates = [rate for rate in rates if wanted.handler in {None, rate.handler}]
    rows: dict[tuple[str, str, str], dict[str, int]] = {}
    series: dict[str, list[int]] = {}
    for rate in rates:
        counts = rows.setdefault((rate.source, rate.handler, rate.detail), dict.fromkeys(SPANS, 0))
        for name, span in SPANS.items():
            counts[name] += rate.count if rate.minute >= now - span else 0
        _into_hour(series, rate, now)
    ranked = sorted(rows.items(), key=lambda item: (-item[1]["24h"], -item[1]["7d"], item[0]))
    return Errors(at=now, rows=[_row(key, counts, now) for key, counts in ranked], series=series)


def _row(key: tuple[str, str, str], counts: Mapping[str, int], now: datetime) -> ErrorRow:
    source, handler, error = key
    wanted = replace(parse("", now=now), source=source, handler=handler or None, error=error or None)
    filters = {name: f"{text_of(wanted)} since:{name}" for name in SPANS}
    return ErrorRow(source=source, handler=handler, error=error, counts=counts, filters=filters)


def _into_hour(series: dict[str, list[int]], rate: Rate, now: datetime) -> None:
    ago = int((now - rate.minute).total_seconds() // 3600)
    if 0 <= ago < 24:
        series.setdefault(rate.detail, [0] * 24)[23 - ago] += rate.count


def _group(desk: Desk, one: FailureGroup) -> Group:
    return Group(
        state=State(one.state),
        source=one.source,
        error=one.error,
        handler=one.handler,
        line=one.line,
        count=one.count,
        first=one.first,
        last=one.last,
        message=desk.redaction.text(one.message),
        newest=one.newest.hex(),
        filter=text_of(one.wanted),
        command=one.command,
    )

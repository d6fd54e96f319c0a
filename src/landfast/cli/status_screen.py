"""How `landfast status` looks: tables in a terminal, tab-separated lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from landfast.cli.output import duration, safe, say
from landfast.domain.alerts.alert import Alert, Severity
from landfast.domain.lifecycle import State
from landfast.domain.rates import Heartbeat
from landfast.operations.doctor.disk import FAIL_SHARE, WARN_SHARE, size
from landfast.operations.doctor.flow import ALL_FAILING_SHARE, FAILING_SHARE
from landfast.operations.flow_status import HandlerStatus, SourceStatus
from landfast.operations.status import Status

BAD, WORTH_A_LOOK, GOOD, QUIET = "bold red", "yellow", "green", "dim"

ALERT_HEADINGS = ("alert", "severity", "since", "what")
LAST = ("last accepted", "last refused")
SOURCE_HEADINGS = ("source", "in/min", "stored", "duplicate", "refused", "ack p95", *LAST, "why")
HANDLER_HEADINGS = ("handler", "out/min", "done", "failed", "failing", "p50", "p95", "last done", "error")
PROCESS_HEADINGS = ("role", "process", "up since", "heard", "doing")

SILENT_SHOWN = 5
"""The latest of them; one that dies again and again would fill the screen."""

Cell = tuple[str, str]
"""A text, and how it looks."""


class Disk(NamedTuple):
    what: str
    path: str
    host: str
    free: int
    total: int


def disks_of(now: Status) -> list[Disk]:
    """Each once, by whoever told of it last."""
    found = {
        (one.host, disk["path"], disk["what"]): Disk(
            disk["what"], disk["path"], one.host, int(disk["free"]), int(disk["total"])
        )
        for one in now.processes
        if one.is_alive
        for disk in one.doing.get("disks", ())
    }
    return list(found.values())


def drawn(now: Status) -> RenderableType:
    parts: list[RenderableType] = [Text(_title(now), style="bold")]
    for title, headings, rows in _tables(now):
        table = Table(
            title=title, title_justify="left", title_style="bold", header_style=QUIET, box=None, pad_edge=False
        )
        for heading in headings:
            table.add_column(heading, overflow="ellipsis", no_wrap=heading not in ("doing", "what"))
        for row in rows:
            table.add_row(*[Text(text, style=style) for text, style in row])
        parts += [Text(), table if rows else Text(f"{title}: none", style=QUIET)]
    return Group(*parts)


def say_status(now: Status) -> None:
    say(_title(now))
    for title, headings, rows in _tables(now):
        say()
        say(title)
        for row in (headings, *[[text for text, _ in cells] for cells in rows]):
            say("\t".join(row))


def _title(now: Status) -> str:
    return f"Landfast at {now.at:%Y-%m-%d %H:%M:%S} UTC, rates of the last {now.minutes} minutes"


def _tables(now: Status) -> Iterator[tuple[str, Sequence[str], list[list[Cell]]]]:
    if now.alerts:
        yield "alerts", ALERT_HEADINGS, [_alert(one, now) for one in now.alerts]
    yield "sources", SOURCE_HEADINGS, [_source(one, now) for one in now.sources]
    yield "handlers", HANDLER_HEADINGS, [_handler(one, now) for one in now.handlers]
    yield "events", ("state", "count", "oldest"), _states(now)
    if blocked := list(_blocked(now)):
        yield "waiting for somebody", ("what", "count", "since", "of", "see"), blocked
    yield "switched off", ("what", "name", "since", "by", "why"), list(_switches(now))
    yield "processes", PROCESS_HEADINGS, [_process(one, now) for one in _shown(now.processes)]
    yield "disks", ("of", "path", "host", "free"), [_disk(disk) for disk in disks_of(now)]


def _shown(processes: Sequence[Heartbeat]) -> list[Heartbeat]:
    """All that are alive, and a few of those that ended without a word."""
    silent = sorted([one for one in processes if not one.is_alive], key=lambda one: one.age)
    return [*[one for one in processes if one.is_alive], *silent[:SILENT_SHOWN]]


def _alert(one: Alert, now: Status) -> list[Cell]:
    style = WORTH_A_LOOK if one.severity is Severity.WARNING else BAD
    return [(safe(one.label), style), (str(one.severity), style), (_ago(one.since, now), ""), (safe(one.sentence), "")]


def _source(one: SourceStatus, now: Status) -> list[Cell]:
    style = BAD if one.has_only_refusals else WORTH_A_LOOK if one.rejected else ""
    why = ", ".join(f"{cause} {count:,}" for cause, count in one.causes[:2])
    return [
        (safe(one.name) or "(no source)", style),
        _rate(one.received, now),
        (f"{one.stored:,}", ""),
        (f"{one.duplicate:,}", ""),
        (f"{one.rejected:,}", style),
        (_seconds(one.ack_p95), ""),
        (_ago(one.last_accepted, now), BAD if one.has_only_refusals else ""),
        (_ago(one.last_rejected, now), ""),
        (safe(why), style),
    ]


def _handler(one: HandlerStatus, now: Status) -> list[Cell]:
    style = BAD if one.failing >= ALL_FAILING_SHARE else WORTH_A_LOOK if one.failing >= FAILING_SHARE else ""
    return [
        (safe(one.name), style),
        _rate(one.done, now),
        (f"{one.done:,}", ""),
        (f"{one.failed:,}", style),
        (f"{one.failing:.0%}" if one.failed else "", style),
        (_seconds(one.p50), ""),
        (_seconds(one.p95), ""),
        (_ago(one.last_done, now), ""),
        (safe(", ".join(f"{error} {count:,}" for error, count in one.errors[:2])), style),
    ]


def _states(now: Status) -> list[list[Cell]]:
    rows = []
    for state, count in now.states.items():
        oldest = ""
        if state == "ready" and now.oldest_ready is not None:
            first = next(one for one in now.waiting if one.since is not None)
            oldest = f"{_ago(now.oldest_ready, now)} ({safe(first.source)} {safe(first.type)})"
        style = WORTH_A_LOOK if count.number and state in ("dead", "held", "paused") else ""
        rows.append([(str(state), style), (str(count), style), (oldest, "")])
    if now.spool_records:
        rows.append([("in the spool", WORTH_A_LOOK), (f"{now.spool_records:,}", WORTH_A_LOOK), ("", "")])
    return rows


def _blocked(now: Status) -> Iterator[list[Cell]]:
    lanes, parked = now.blocked, now.parked
    if lanes.count:
        yield [
            ("lanes blocked by a dead letter", BAD),
            (f"{lanes}, {lanes.waiting:,} events queued", BAD),
            (_ago(lanes.oldest, now), ""),
            (safe(", ".join(lanes.handlers)), ""),
            ("landfast lanes list", ""),
        ]
    if parked.oldest is not None:
        yield [
            ("events that are parked", WORTH_A_LOOK),
            (str(now.states[State.PARKED]), WORTH_A_LOOK),
            (_ago(parked.oldest, now), ""),
            (safe(", ".join(parked.handlers)), ""),
            ("landfast events list state:parked", ""),
        ]


def _switches(now: Status) -> Iterator[list[Cell]]:
    for one in now.breakers:
        yield [("breaker", BAD), (safe(one.name), BAD), (_ago(one.at, now), ""), ("a worker", ""), (safe(one.why), "")]
    for one in now.pauses:
        told = (_ago(one.at, now), ""), (safe(one.who), ""), (safe(one.why), "")
        yield [(f"paused {one.kind}", WORTH_A_LOOK), (safe(one.name), WORTH_A_LOOK), *told]


def _process(one: Heartbeat, now: Status) -> list[Cell]:
    style = GOOD if one.is_alive else BAD
    heard = f"{one.age:.0f} s ago" if one.is_alive else f"silent for {duration(one.age)}"
    skew = f", clock {one.skew:+.1f} s" if abs(one.skew) >= 2 else ""
    return [
        (one.role, style),
        (f"{safe(one.host)}/{one.pid}", ""),
        (_ago(one.started_at, now), ""),
        (heard + skew, style),
        (safe(_doing(one.doing, now)), ""),
    ]


def _doing(doing: Any, now: Status) -> str:
    told = [str(doing["address"])] if doing.get("address") else []
    if "hands" in doing:
        hand = doing.get("in_hand", ())
        longest = [
            f"{one['handler']} for {duration(max(0, round(now.at.timestamp() - float(one['since']))))}"
            for one in hand[:3]
        ]
        told.append(f"{len(hand)} of {doing['hands']} hands busy{': ' if longest else ''}{', '.join(longest)}")
    if doing.get("suspects_only"):
        told.append("suspects only")
    if "ready" in doing:
        told.append("ready" if doing["ready"] else "NOT READY")
        told += [f"{layer} {text}" for layer, text in doing.get("layers", {}).items() if text != "ok"]
    told += [f"{doing[name]:,} {words}" for name, words in _AMOUNTS.items() if doing.get(name)]
    return ", ".join(told)


_AMOUNTS = {
    "in_flight": "requests in flight",
    "spool_records": "records in the spool",
    "journal_backlog": "messages in the journal",
}


def _disk(disk: Disk) -> list[Cell]:
    share = disk.free / max(1, disk.total)
    style = BAD if share < FAIL_SHARE else WORTH_A_LOOK if share < WARN_SHARE else ""
    free = f"{size(disk.free)} of {size(disk.total)} ({share:.0%})"
    return [(disk.what, style), (safe(disk.path), ""), (safe(disk.host), ""), (free, style)]


def _rate(count: int, now: Status) -> Cell:
    return (f"{count / now.minutes:,.4g}", "" if count else QUIET)


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    if value == float("inf"):
        return "> 30 s"
    return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"


def _ago(at: datetime | None, now: Status) -> str:
    """Short, because it is read while it changes; `--json` has the time itself."""
    return "" if at is None else f"{duration(max(0, round((now.at - at).total_seconds())))} ago"

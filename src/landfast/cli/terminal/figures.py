"""What the screens of `landfast top` say: cells and lines from the answers of the dashboard's own questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.text import Text

from landfast.admin.pages.body_view import body_view
from landfast.admin.pages.sources import state_of
from landfast.admin.pages.story import Line, story, trace_lines
from landfast.admin.pages.words import TONES, capped, count, duration
from landfast.admin.questions.event import EventView
from landfast.admin.questions.events import EventRow
from landfast.admin.questions.overview import Overview
from landfast.cli.output import safe
from landfast.operations.flow_status import HandlerStatus, SourceStatus

STYLES = {"ok": "green", "bad": "bold red", "warn": "yellow", "held": "magenta", "info": "cyan", "idle": "dim"}
"""Of a tone of the pages; the terminal chooses what its colours look like."""

Row = Sequence[Text]

EVENT_HEADINGS = ("state", "received", "source", "type", "key", "run", "why")
SOURCE_HEADINGS = ("source", "in/min", "duplicate", "refused", "ack p95", "last accepted", "state")
HANDLER_HEADINGS = ("handler", "done/min", "failed", "p95", "last done", "error")


def said(text: object, style: str = "") -> Text:
    """What a stranger wrote is text: no markup of it is read, and nothing of it moves the cursor."""
    return Text(safe(str(text)), style=style, no_wrap=True, overflow="ellipsis")


def headline(seen: Overview) -> Text:
    """The same figures as at the top of the overview page."""
    total, dead = seen.total, seen.states["dead"]
    oldest = None if seen.oldest_ready is None else max(0.0, (seen.at - seen.oldest_ready).total_seconds())
    share = "-" if seen.dedup_share is None else f"{seen.dedup_share:.1%}"
    figures = [
        ("answered in, p99", duration(total.ack_p99), ""),
        ("in", f"{count(total.received / seen.minutes)}/min", ""),
        ("done", f"{count(total.done / seen.minutes)}/min", ""),
        ("oldest waiting", "none" if oldest is None else duration(oldest), "yellow" if oldest and oldest > 60 else ""),
        ("dead letters", capped(dead.number, is_more=dead.is_more), "bold red" if dead.number else ""),
        ("duplicates", share, ""),
    ]
    text = Text()
    for name, value, style in figures:
        text.append(f"{name} ", "dim").append(value, style or "bold").append("   ")
    return text


def alerts(seen: Overview) -> Text:
    if not seen.alerts:
        return Text("no alert is firing", "dim")
    return Text("   ").join(said(one.sentence, "bold red") for one in seen.alerts)


def source_rows(seen: Overview) -> Iterator[tuple[str, Row]]:
    pauses = {one.name: one.at for one in seen.pauses if one.kind == "source"}
    for one in seen.sources:
        word, tone = state_of(one, pauses.get(one.name))
        yield one.name, [*_source_cells(one, seen), said(word, STYLES[tone])]


def _source_cells(one: SourceStatus, seen: Overview) -> Row:
    return [
        said(one.name or "(no source)", "bold"),
        said(count(one.received / seen.minutes)),
        said(f"{one.duplicate:,}"),
        said(f"{one.rejected:,}", "yellow" if one.rejected else "dim"),
        said(duration(one.ack_p95)),
        said(_ago(one.last_accepted, seen.at)),
    ]


def handler_rows(seen: Overview) -> Iterator[tuple[str, Row]]:
    for one in seen.handlers:
        yield one.name, _handler_cells(one, seen)


def _handler_cells(one: HandlerStatus, seen: Overview) -> Row:
    style = "yellow" if one.failed else "dim"
    return [
        said(one.name, "bold"),
        said(count(one.done / seen.minutes)),
        said(f"{one.failed:,}", style),
        said(duration(one.p95)),
        said(_ago(one.last_done, seen.at)),
        said(", ".join(f"{error} {number:,}" for error, number in one.errors[:2]), style),
    ]


def event_row(one: EventRow) -> Row:
    return [
        said(one.state, STYLES[TONES.get(str(one.state), "idle")]),
        said(f"{one.received_at:%m-%d %H:%M:%S}", "dim"),
        said(one.source),
        said(one.type),
        said(one.key),
        said(one.run, "dim" if one.run == 1 else ""),
        said(" ".join(filter(None, [one.error or one.reason, one.message]))),
    ]


def event_text(view: EventView) -> Text:
    """One event, and its four questions, as its page has them."""
    event = view.event
    text = Text()
    text.append(safe(event.type or event.key), "bold").append("   ").append_text(event_row(event)[0]).append("\n")
    facts = {
        "id": event.id,
        "key": f"{event.source}/{event.key}",
        "entity": event.entity or "",
        "received": f"{event.received_at:%Y-%m-%d %H:%M:%S} UTC",
        "came again": f"{event.redelivered:,} times" if event.redelivered else "",
        "held": view.held_for,
        "next try": f"{event.due_at:%Y-%m-%d %H:%M:%S} UTC" if event.due_at else "",
        "error": " ".join(filter(None, [event.error, event.message])),
    }
    for name, value in facts.items():
        if value:
            text.append(f"{name:<12}", "dim").append(f"{safe(value)}\n")
    lines = story(event.received_at, event.redelivered, view.history, came_again=view.came_again)
    text.append("\nwhat happened\n", "bold")
    for line in lines:
        text.append_text(_line(line))
    trace = next((line.trace for line in reversed(lines) if line.trace), "")
    if trace:
        text.append("\nwhere it failed\n", "bold")
        for each in trace_lines(trace, event.line):
            text.append(f"{safe(each.text)}\n", {"mine": "bold red", "far": "dim", "error": "red"}.get(each.kind, ""))
    body = body_view(view.body, view.body_base64)
    text.append(f"\nwhat came: {body.size:,} bytes\n", "bold").append(
        safe(view.no_body or body.pretty or body.exact, lines=True)
    )
    return text


def _line(line: Line) -> Text:
    text = Text(f"{line.at:%H:%M:%S} ", "dim")
    text.append(safe(line.strong), STYLES.get(line.tone, "")).append(f" {safe(line.text)}")
    if line.code:
        text.append(f" {safe(line.code)}", "red").append(f": {safe(line.message)}" if line.message else "")
    return text.append("\n")


def _ago(at: datetime | None, now: datetime) -> str:
    return "never" if at is None else f"{duration(max(0, round((now - at).total_seconds())))} ago"

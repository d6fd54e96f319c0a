"""How the pages say numbers, times, states and hostile text: the filters of the templates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))

TONES: Mapping[str, str] = {
    # of events and effects
    "done": "ok",
    "ready": "info",
    "claimed": "info",
    "delayed": "warn",
    "dead": "bad",
    "held": "held",
    "paused": "held",
    "parked": "held",
    "queued": "held",
    "unhandled": "warn",
    "waiting": "idle",
    "discarded": "idle",
    "closed": "idle",
    # of jobs
    "running": "info",
    "finished": "ok",
    "stopped": "warn",
    "cancelled": "idle",
    "failed": "bad",
    # of alerts and findings
    "critical": "bad",
    "error": "bad",
    "warning": "warn",
    "fail": "bad",
    "warn": "warn",
    "ok": "ok",
    # of switches and breakers
    "open": "bad",
    "half_open": "warn",
    "flowing": "ok",
    "only refusals": "bad",
    "silent": "idle",
}
"""A colour for each word; what has none is grey. A state is never told by its colour alone."""


def tone(word: Any) -> str:
    return TONES.get(str(word).lower(), "idle")


def tag(word: Any, colour: str | None = None) -> Markup:
    return Markup('<span class="tag {}">{}</span>').format(colour or tone(word), visible(str(word)))


def visible(text: Any, *, lines: bool = False) -> str:
    """The text with everything made visible that could turn the direction of writing, or hide."""
    keep = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in keep else _escaped(c) for c in str(text))


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def count(value: float) -> str:
    if float(value).is_integer() or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1 else f"{value:.2f}" if value >= 0.01 else "under 0.01"


def capped(number: int, at_most: int | None = None, *, is_more: bool = False) -> str:
    """`10,000 or more` where nobody counted further."""
    return f"{number:,}{' or more' if is_more or (at_most is not None and number >= at_most) else ''}"


def per_minute(number: float, minutes: float) -> str:
    return f"{number / minutes:,.3g}" if minutes else "0"


def share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}".replace("%", " %") if whole else "-"


def duration(seconds: float | None) -> str:
    """`0.4 s`, `12 min`, `3.5 h`."""
    if seconds is None:
        return "-"
    if seconds == float("inf"):
        return "over 30 s"
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    size, unit = next((each for each in UNITS if seconds >= each[0]), (1, "s"))
    amount = seconds / size
    return f"{amount:.2g} {unit}" if amount < 10 else f"{amount:,.0f} {unit}"


def size(number: float) -> str:
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            return f"{number / limit:.3g} {unit}"
    return f"{number:,.0f} bytes"


def clock_time(at: datetime | None, *, ms: bool = False) -> Markup:
    """`06:18:04.112`, with the whole time for whoever points at it."""
    if at is None:
        return Markup('<span class="quiet">-</span>')
    utc = at.astimezone(UTC)
    part = Markup('<span class="ms">.{:03}</span>').format(utc.microsecond // 1000) if ms else ""
    return Markup('<time datetime="{}" title="{} UTC">{}{}</time>').format(
        utc.isoformat(), f"{utc:%Y-%m-%d %H:%M:%S}", f"{utc:%H:%M:%S}", part
    )


def moment(at: datetime | None, now: datetime | None = None) -> Markup:
    """The day as well, unless it is today."""
    if at is None:
        return Markup('<span class="quiet">never</span>')
    utc = at.astimezone(UTC)
    is_today = now is not None and utc.date() == now.astimezone(UTC).date()
    text = f"{utc:%H:%M:%S}" if is_today else f"{utc:%Y-%m-%d %H:%M}"
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        utc.isoformat(), f"{utc:%Y-%m-%d %H:%M:%S}", text
    )


def ago(at: datetime | None, now: datetime) -> Markup:
    if at is None:
        return Markup('<span class="quiet">never</span>')
    seconds = (now - at).total_seconds()
    words = f"{duration(round(seconds) if seconds >= 1 else 0) if seconds >= 1 else 'now'}"
    text = words if words == "now" else f"{words} ago"
    if seconds < -1:
        text = f"in {duration(round(-seconds))}"
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        utc.isoformat(), f"{utc:%Y-%m-%d %H:%M:%S}", text
    )


_JSON_NAME = re.compile(r'^(\s*)("(?:[^"\\]|\\.)*")(\s*:)', re.MULTILINE)


def json_lines(text: str) -> Markup:
    """JSON that stands on lines, with its names marked. What is in it stays text."""
    parts, last = [], 0
    for found in _JSON_NAME.finditer(text):
        parts += [escape(text[last : found.start(2)]), Markup('<span class="name">{}</span>').format(found[2])]
        last = found.end(2)
    return Markup("").join([*parts, escape(text[last:])])


def as_json(value: Any) -> str:
    """On one line, as text: the page escapes it like any other."""
    return visible(json.dumps(value, ensure_ascii=False, default=str))


def plural(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


FILTERS = {
    "tone": tone,
    "tag": tag,
    "visible": visible,
    "count": count,
    "capped": capped,
    "share": share,
    "duration": duration,
    "bytes": size,
    "clock_time": clock_time,
    "moment": moment,
    "ago": ago,
    "json_lines": json_lines,
    "plural": plural,
    "as_json": as_json,
}

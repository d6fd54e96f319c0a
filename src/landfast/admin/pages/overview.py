"""The overview: is everything well, and if not, where to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from landfast.admin.charts.lines import Series, line_chart, sparkline
from landfast.admin.charts.scale import seconds
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.drawn import drawn
from landfast.admin.pages.failures import ERRORS_SECONDS, error_rows
from landfast.admin.pages.page import Page
from landfast.admin.pages.proof import TONES, balance_of
from landfast.admin.pages.sources import state_of
from landfast.admin.pages.starts import starts
from landfast.admin.questions import overview
from landfast.domain.rates import LATENCY_BOUNDS_SECONDS
from landfast.operations.flow_status import SourceStatus

WINDOWS = {"10": "10 min", "60": "1 h", "120": "2 h", "360": "6 h", "1440": "24 h"}
WINDOW = "120"
GROUPS_SHOWN = 5

LIVE_SECONDS = 1.5
"""A page that is live asks every two."""

PROOF_SECONDS = 20.0
"""It asks the ledger, and says itself when that was."""


async def gather(ask: Ask) -> Mapping[str, Any]:
    minutes = ask.query.get("minutes", WINDOW)
    ask.standing_proof.begin(PROOF_SECONDS)  # beside the other questions
    return {
        "overview": await ask.shared("overview.overview", LIVE_SECONDS, minutes=minutes),
        "errors": await ask.shared("failures.errors", ERRORS_SECONDS, filter=""),
        "proof": await ask.proof(PROOF_SECONDS),
    }


def draw(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    shown: dict[str, Any] = {
        "windows": WINDOWS,
        "window": ask.query.get("minutes", WINDOW),
        "groups": error_rows(parts["errors"].value.rows)[:GROUPS_SHOWN] if parts["errors"].value else [],
        "balances": [(one, balance_of(one)) for one in parts["proof"].value.equations] if parts["proof"].value else [],
        "tones": TONES,
    }
    seen = parts["overview"].value
    return shown if seen is None else {**shown, **_drawn(seen)}


def _drawn(seen: overview.Overview) -> Mapping[str, Any]:
    times = [one.minute for one in seen.series]
    # The running minute is not over: as a point of a curve it would look like a fall.
    whole = slice(None, -1) if len(times) > 1 else slice(None)
    flow = [
        Series("in", "hue-1", [one.received for one in seen.series][whole], is_filled=True),
        Series("done", "ink", [one.done for one in seen.series][whole]),
        Series("duplicates", "hue-4", [one.duplicate for one in seen.series][whole]),
        Series("refused", "hue-2", [one.rejected for one in seen.series][whole]),
    ]
    acks = [
        Series("p50", "hue-1", [one.ack_p50 for one in seen.series][whole]),
        Series("p99", "hue-3", [one.ack_p99 for one in seen.series][whole]),
    ]
    marks = starts(seen.processes, seen.alerts)
    return {
        "flow": flow,
        "acks": acks,
        "flow_chart": drawn(
            line_chart(times[whole], flow, title="Deliveries and runs of handlers", unit="per minute", marks=marks)
        ),
        "ack_chart": drawn(
            line_chart(times[whole], acks, title="Time to the answer", label=seconds, beyond=LATENCY_BOUNDS_SECONDS[-1])
        ),
        "ack_p50": _last([one.ack_p50 for one in seen.series]),
        "ack_p99": _last([one.ack_p99 for one in seen.series]),
        "rows": [_row(one, seen) for one in seen.sources],
        "oldest": None if seen.oldest_ready is None else max(0.0, (seen.at - seen.oldest_ready).total_seconds()),
    }


def _last(values: Sequence[float | None]) -> float | None:
    """Of the last minute in which something came."""
    return next((value for value in reversed(values) if value is not None), None)


def _row(one: SourceStatus, seen: overview.Overview) -> Mapping[str, Any]:
    series = seen.source_series.get(one.name, ())[:-1]  # the running minute would look like a fall
    paused = next((each for each in seen.pauses if each.kind == "source" and each.name == one.name), None)
    return {
        "status": one,
        "spark": drawn(
            sparkline(
                series,
                title=f"{one.name or 'no source'}: {one.received:,} deliveries",
                hue="hue-2" if one.has_only_refusals else "hue-1" if one.received else "hue-6",
            )
        ),
        "per_minute": one.received / seen.minutes,
        "state": state_of(one, paused.at if paused else None),
    }


PAGE = Page("overview", "/", "Overview", gather, draw)

"""The page of one source, in Markdown: what somebody wants to know who is called at night and has never seen it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from landfast.domain.alerts.alert import Alert
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.domain.rates import Latest, Meter, Rate
from landfast.domain.unhandled import UnhandledCount
from landfast.ports.inbox import Inbox

TYPES_SHOWN = 50
"""Those with the most events: a page is read, not searched."""

COUNT_AT_MOST = 10_000
SEEN_FOR = timedelta(days=35)
"""As far as the rates reach back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerFacts:
    name: str
    pattern: str
    function: str
    """Module and name."""
    retries: str
    deadline: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What the settings and the code say."""

    name: str
    provider: str
    title: str
    owner: str
    signed: str
    identity: str
    path: str
    public_url: str
    tolerance: str
    retries: str
    secrets: Sequence[str]
    """Name, state and place of each; never the secret."""
    handlers: Sequence[HandlerFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFlow:
    """What the inbox knows."""

    at: datetime
    rates: Sequence[Rate] = ()
    latest: Sequence[Latest] = ()
    unhandled: Sequence[UnhandledCount] = ()
    dead: int = 0
    alerts: Sequence[Alert] = field(default=())


async def flow_of(inbox: Inbox, source: str, handlers: Sequence[str], *, now: datetime) -> SourceFlow:
    subjects = {source, *handlers}
    return SourceFlow(
        at=now,
        rates=await inbox.rates(now - SEEN_FOR, source=source),
        latest=[one for one in await inbox.latest_rates() if one.source == source],
        unhandled=[one for one in await inbox.unhandled() if one.source == source],
        dead=await inbox.count(Filter(source=source, state=State.DEAD), at_most=COUNT_AT_MOST),
        alerts=[alert for alert in await inbox.firing() if alert.subject in subjects],
    )


def page(facts: SourceFacts, flow: SourceFlow | None) -> str:
    """Without the flow, where the inbox does not answer: the page says so."""
    lines = [f"# Source {facts.name}", "", *_about(facts), "", "## Handlers", "", *_handlers(facts)]
    if flow is None:
        lines += ["", "The inbox does not answer, so nothing is known here of what came in.", "", *_replay(facts)]
        return "\n".join(lines) + "\n"
    lines += ["", "## Now", "", *_now(flow), "", "## The last 24 hours", "", *_day(flow)]
    lines += ["", f"## Types seen in {SEEN_FOR.days} days", "", *_types(flow), "", *_replay(facts)]
    return "\n".join([*lines, "", f"Drawn by `landfast sources page {facts.name}` at {_time(flow.at)}."]) + "\n"


def _about(facts: SourceFacts) -> list[str]:
    rows = {
        "Provider": f"{facts.title} (`{facts.provider}`)",
        "Owner": facts.owner or f'nobody is named; write `owner = "..."` under `[sources.{facts.name}]`',
        "Path": f"`{facts.path}`",
        "Public address": facts.public_url,
        "What is signed": facts.signed,
        "What makes two deliveries one event": f"`{facts.identity}`",
        "Signed time may be off by": facts.tolerance,
        "The sender tries again for": facts.retries,
        "Secrets": "; ".join(facts.secrets),
    }
    return ["| | |", "|---|---|", *(f"| {name} | {_cell(text)} |" for name, text in rows.items() if text)]


def _handlers(facts: SourceFacts) -> list[str]:
    if not facts.handlers:
        return ["None in the code that was read; add `--app module:inbox` to see them."]
    rows = [
        f"| `{_word(one.name)}` | `{_word(one.pattern)}` | `{_word(one.function)}` | {one.retries}"
        f" | {one.deadline:g} s |"
        for one in facts.handlers
    ]
    return ["| Handler | Takes | Function | Tried for | Deadline |", "|---|---|---|---|---|", *rows]


def _now(flow: SourceFlow) -> list[str]:
    last = {meter: max((one.at for one in flow.latest if one.meter is meter), default=None) for meter in Meter}
    rows = {
        "Last new event": _time(last[Meter.STORED]),
        "Last duplicate": _time(last[Meter.DUPLICATE]),
        "Last refusal": _time(last[Meter.REJECTED]),
        "Dead letters": f"{flow.dead:,}{' or more' if flow.dead == COUNT_AT_MOST else ''}",
        "Unhandled": ", ".join(f"`{_word(one.type)}` {one.count:,}" for one in flow.unhandled) or "none",
        "Alerts": "; ".join(f"**{alert.label}**: {alert.sentence}" for alert in flow.alerts) or "none",
    }
    return ["| | |", "|---|---|", *(f"| {name} | {_cell(text)} |" for name, text in rows.items())]


def _day(flow: SourceFlow) -> list[str]:
    counts, causes = Counter[tuple[Meter, str]](), Counter[str]()
    for rate in flow.rates:
        if rate.minute >= flow.at - timedelta(days=1):
            counts[rate.meter, rate.handler] += rate.count
            if rate.meter is Meter.REJECTED:
                causes[rate.detail] += rate.count
    told = ", ".join(f"{counts[meter, '']:,} {meter}" for meter in (Meter.RECEIVED, Meter.STORED, Meter.DUPLICATE))
    refused = ", ".join(f"{cause} {count:,}" for cause, count in causes.most_common())
    handlers = sorted({handler for _, handler in counts if handler})
    rows = [
        f"- `{_cell(handler)}`: {counts[Meter.DONE, handler]:,} done, {counts[Meter.FAILED, handler]:,} attempts failed"
        for handler in handlers
    ]
    return [f"- {told}, {counts[Meter.REJECTED, '']:,} rejected{f' ({refused})' if refused else ''}", *rows]


def _types(flow: SourceFlow) -> list[str]:
    seen = Counter[str]()
    for rate in flow.rates:
        if rate.meter is Meter.STORED:
            seen[rate.type] += rate.count
    if not seen:
        return ["None."]
    rows = [f"| `{_word(type_)}` | {count:,} |" for type_, count in seen.most_common(TYPES_SHOWN)]
    more = [f"| and {len(seen) - TYPES_SHOWN:,} more | |"] if len(seen) > TYPES_SHOWN else []
    return ["| Type | Events |", "|---|---|", *rows, *more]


def _replay(facts: SourceFacts) -> list[str]:
    name = facts.name
    return [
        "## When its events fail",
        "",
        "```",
        f"landfast pause {name}                     # stop processing; senders still get their 200",
        f"landfast dead summary source:{name}       # what died, and of what",
        "landfast dead show EVENT                   # one of them, with its bytes and its trace",
        f"landfast resume {name}                    # after the fix",
        f"landfast replay source:{name} --dry-run   # what would they write?",
        f"landfast replay source:{name} --canary 5  # run them, each under its own key",
        f"landfast retry source:{name}              # those that wait for another try, now",
        "landfast proof                             # nothing lost, nothing doubled",
        "```",
    ]


def _time(moment: datetime | None) -> str:
    return "never" if moment is None else f"{moment:%Y-%m-%d %H:%M:%SZ}"


def _cell(text: str) -> str:
    """What came from outside must end neither the cell nor the line, and be no HTML."""
    return "".join(c if c.isprintable() else " " for c in text).replace("|", "\\|").replace("<", "&lt;")


def _word(text: str) -> str:
    """The same between backticks."""
    return _cell(text).replace("`", "'")

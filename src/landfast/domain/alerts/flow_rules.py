"""Rules about events on their way: what fails, dies, is refused, or waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from landfast.domain.alerts.alert import AlertName, Finding, Severity
from landfast.domain.alerts.observation import DETAILS_SHOWN, Observation
from landfast.domain.alerts.thresholds import Thresholds
from landfast.domain.rates import Meter
from landfast.domain.refusal_causes import UNVERIFIED as UNDIAGNOSED
from landfast.domain.refusal_causes import fix_of
from landfast.domain.refused_since import refused_since

STUBBORN_FAILURES = 3
"""Failed attempts in 15 minutes of a handler of which none succeeded: it may have one event an hour."""

UNVERIFIED = frozenset({"unverified", "unknown_source"})
"""Causes of refusals that mean: who sent this has proved nothing."""

ACCEPTED = (Meter.STORED, Meter.DUPLICATE)


def dead_letters(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    quarter, hour = seen.by_source(15, Meter.DEAD), seen.by_source(60, Meter.DEAD)
    for source, count in quarter.items():
        usual = max((each.middle for each in seen.past.usuals(Meter.DEAD, source, seen.at)), default=0.0)
        # Where some always die, as many as usual are no news.
        least = limits.dead_letters + limits.volume_times * usual
        if count < least and hour[source] < 2 * least:
            continue
        minutes, shown = (15, count) if count >= least else (60, hour[source])
        why = seen.details(minutes, Meter.DEAD, source=source)
        yield Finding(
            AlertName.DEAD_LETTERS,
            source,
            Severity.ERROR,
            f"{shown:,} events of {source} became dead letters in {minutes} minutes{_because(why)}.",
            f"landfast dead summary source:{source}; mend the cause, then replay as it says",
            {"dead": shown, "minutes": minutes, "causes": why},
        )


def failing_handler(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    failed, done = seen.by_handler(5, Meter.FAILED), seen.by_handler(5, Meter.DONE)
    longer, ever = seen.by_handler(15, Meter.FAILED), seen.by_handler(15, Meter.DONE)
    for handler in longer:
        share = failed[handler] / max(1, failed[handler] + done[handler])
        is_sustained = failed[handler] >= limits.failing_at_least and share >= limits.failing_share
        if not is_sustained and not (longer[handler] >= STUBBORN_FAILURES and not ever[handler]):
            continue
        minutes, bad, good = (
            (5, failed[handler], done[handler]) if is_sustained else (15, longer[handler], ever[handler])
        )
        why = seen.details(minutes, Meter.FAILED, handler=handler)
        yield Finding(
            AlertName.FAILING_HANDLER,
            handler,
            Severity.ERROR,
            f"{bad:,} of {bad + good:,} attempts of {handler} failed in {minutes} minutes{_because(why)}.",
            f"landfast dead summary --failing says where; landfast pause {handler} while you mend it,"
            f" then landfast retry handler:{handler}",
            {"failed": bad, "done": good, "minutes": minutes, "causes": why},
        )


def only_refusals(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    refused, accepted = seen.by_source(5, Meter.REJECTED), seen.by_source(5, *ACCEPTED)
    for source, count in refused.items():
        shown, during = count, "in 5 minutes"
        if not source or count < limits.refusals_at_least:
            continue
        if accepted[source]:
            lately = refused_since(seen.flows(source, ACCEPTED), seen.at, at_least=limits.refusals_at_least)
            if lately is None:
                continue
            shown, during = lately.count, f"since {lately.since:%H:%MZ}"
        known = Counter(seen.causes.get(source, {}))
        del known[UNDIAGNOSED]  # a sample is looked at: what it found holds for the others, too
        causes = [cause for cause, _ in known.most_common(DETAILS_SHOWN)]
        why = ", ".join(causes) or seen.details(5, Meter.REJECTED, source=source)
        yield Finding(
            AlertName.ONLY_REFUSALS,
            source,
            Severity.ERROR,
            f"All {shown:,} requests to {source} were refused {during}{_because(why)}.",
            fix_of(causes[0]) if causes else f"landfast rejected list; then landfast sources rotate {source}",
            {"rejected": shown, "accepted": 0, "causes": why},
        )


def unverified_flood(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    found: dict[str, int] = {}
    for key, count in seen.totals(5).items():
        if key.meter is Meter.REJECTED and key.detail in UNVERIFIED:
            found[key.source] = found.get(key.source, 0) + count
    alone = {finding.subject for finding in only_refusals(seen, limits)}
    for source, count in found.items():
        usual = max((each.most for each in seen.past.usuals(Meter.REJECTED, source, seen.at)), default=0.0)
        most = limits.volume_times * usual  # usual in 15 minutes; a flood has it in five
        if count < limits.unverified_at_least or count < most or source in alone:
            continue
        yield Finding(
            AlertName.UNVERIFIED_FLOOD,
            source,
            Severity.WARNING,
            f"{count:,} requests {f'to {source} ' if source else ''}proved nothing in 5 minutes, and were refused.",
            "look where they come from; allow_from says who may send, and a proxy in front can keep the others away",
            {"unverified": count, "minutes": 5},
        )


def oldest_waiting(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    if seen.untried_since is None:
        return
    waited = (seen.at - seen.untried_since).total_seconds()
    if waited >= limits.waiting_seconds:
        yield Finding(
            AlertName.OLDEST_WAITING,
            "",
            Severity.ERROR,
            f"The oldest event that nobody has tried yet waits for {waited / 60:,.0f} minutes.",
            "see that workers run and keep up: landfast status; more of them: landfast work",
            {"seconds": round(waited)},
        )


def _because(why: str) -> str:
    return f": {why}" if why else ""

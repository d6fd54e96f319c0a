"""When somebody is told: at once, again after a while that grows, and once it has been quiet for a while.

An alert is *firing* from the look that first found it. It is *resolved* when no look has found it for `quiet` seconds,
so that something that comes and goes is one incident and not twenty. While it is silenced it goes on as it would, and
nobody is told; when the silence ends and it is still there, it is told again. That it is resolved is told to whoever
has heard of it, silence or not: a pager must not ring on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from landfast.domain.alerts.alert import Alert, Finding, Notice, NoticeKind, Silence

LONGEST_REPEAT_SECONDS = 86_400.0
"""Between two notices about the same incident: once a day, so that nobody forgets it."""


@dataclass(frozen=True, slots=True)
class Patience:
    quiet: float = 300.0
    """Seconds without a finding until it is resolved."""
    repeat: float = 3_600.0
    """Seconds until it is told again; each time twice as long."""


@dataclass(frozen=True, slots=True)
class Step:
    changed: tuple[Alert, ...]
    notices: tuple[Notice, ...]


def step(
    firing: Iterable[Alert],
    found: Iterable[Finding],
    silences: Sequence[Silence],
    now: datetime,
    *,
    patience: Patience,
    new_id: Callable[[], str],
) -> Step:
    """What follows from one look: alerts that changed, and what is to be told."""
    known = {(alert.name, alert.subject): alert for alert in firing}
    changed, notices = [], []
    for finding in found:
        alert = _seen(known.pop((finding.name, finding.subject), None), finding, now, new_id)
        kind = _due(alert, now, patience)
        if kind is not None and not any(one.covers(alert.name, alert.subject, now) for one in silences):
            alert = replace(alert, told_at=now, told=alert.told + 1)
            notices.append(Notice(new_id(), kind, alert))
        changed.append(alert)
    for alert in known.values():
        if (now - alert.seen_at).total_seconds() >= patience.quiet:
            resolved = replace(alert, resolved_at=now)
            changed.append(resolved)
            if alert.told:
                notices.append(Notice(new_id(), NoticeKind.RESOLVED, resolved))
    return Step(tuple(changed), tuple(notices))


def _seen(alert: Alert | None, finding: Finding, now: datetime, new_id: Callable[[], str]) -> Alert:
    if alert is None:
        return Alert(
            incident=new_id(),
            name=finding.name,
            subject=finding.subject,
            severity=finding.severity,
            sentence=finding.sentence,
            fix=finding.fix,
            figures=finding.figures,
            since=now,
            seen_at=now,
        )
    return replace(
        alert,
        severity=finding.severity,
        sentence=finding.sentence,
        fix=finding.fix,
        figures=finding.figures,
        seen_at=now,
    )


def _due(alert: Alert, now: datetime, patience: Patience) -> NoticeKind | None:
    if alert.told_at is None:
        return NoticeKind.FIRING
    pause = min(patience.repeat * 2.0 ** min(alert.told - 1, 30), LONGEST_REPEAT_SECONDS)
    return NoticeKind.REPEATED if now >= alert.told_at + timedelta(seconds=pause) else None

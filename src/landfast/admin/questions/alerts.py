"""Alerts: what is wrong now, who was told, and who does not want to hear of it for a while."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.route import Nothing
from landfast.domain.alerts.alert import Alert, Severity, Silence, runbook
from landfast.operations.alerts import listing


class AlertView(Answered):
    alert: Alert
    label: str
    """`failing-handler/create_order`: what a silence takes."""
    runbook: str
    is_silenced: bool


class UnsentView(Answered):
    """A notice that its receiver has not taken."""

    sink: str
    notice: str
    incident: str
    made_at: datetime
    tries: int
    error: str
    given_up_at: datetime | None


class Alerts(Answered):
    firing: Sequence[AlertView]
    """The most severe first."""
    resolved: Sequence[AlertView]
    """The latest, newest first."""
    silences: Sequence[Silence]
    unsent: Sequence[UnsentView]


async def alerts(desk: Desk, _asked: Nothing) -> Alerts:
    """Alerts that are firing or were, silences, and notices that nobody has taken."""
    found = await listing(desk.archive)
    base, now = desk.inbox.settings.alerts.runbooks, desk.now()

    def view(alert: Alert) -> AlertView:
        is_silenced = any(one.covers(alert.name, alert.subject, now) for one in found.silences)
        return AlertView(alert=alert, label=alert.label, runbook=runbook(alert.name, base), is_silenced=is_silenced)

    return Alerts(
        firing=[view(alert) for alert in sorted(found.firing, key=lambda one: list(Severity).index(one.severity))],
        resolved=[view(alert) for alert in found.resolved],
        silences=found.silences,
        unsent=[
            UnsentView(
                sink=one.message.sink,
                notice=one.message.id,
                incident=one.message.incident,
                made_at=one.made_at,
                tries=one.tries,
                error=one.error,
                given_up_at=one.given_up_at,
            )
            for one in found.unsent
        ],
    )

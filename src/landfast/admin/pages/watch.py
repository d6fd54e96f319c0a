"""What stands beside the events: lanes, refusals, alerts, the operator log, the doctor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from landfast.admin.charts.balance import Part as Share
from landfast.admin.charts.balance import balance
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.drawn import drawn
from landfast.admin.pages.page import Page
from landfast.domain.access import Role

SEVERITY = {"fail": 0, "warn": 1, "ok": 2}

VERIFIED_SECONDS = 15.0
"""For which the last check of the log is believed: one goes through all of it. The page says when it was."""


async def gather_lanes(ask: Ask) -> Mapping[str, Any]:
    return {"lanes": await ask("lanes.lanes"), "lifecycles": await ask("lanes.lifecycles")}


def draw_lanes(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    """A bar for each lane, as long as what waits in it."""
    found, machines = parts["lanes"].value, parts["lifecycles"].value
    most = max((one.waiting for one in found.lanes), default=1) if found else 1
    return {
        "rows": [(one, drawn(_bar(one.waiting, most, one.state))) for one in found.lanes] if found else [],
        "machines": [(one.name, drawn(unstyled(one.svg))) for one in machines.lifecycles] if machines else [],
    }


def _bar(waiting: int, most: int, state: str) -> str:
    shares = [Share("waiting", "bad" if state == "dead" else "held", waiting)]
    shares += [Share("", "none", most - waiting)] if most > waiting else []
    return balance(shares, title=f"{waiting:,} wait")


def unstyled(svg: str) -> str:
    """A drawing in the colours of the page: its own style is for files that stand alone, and the policy forbids it."""
    head, begins, rest = svg.partition("<style>")
    return head + rest.partition("</style>")[2] if begins else svg


async def gather_rejections(ask: Ask) -> Mapping[str, Any]:
    source = {"source": ask.query["source"]} if ask.query.get("source") else {}
    return {"rejections": await ask("rejections.rejections", limit=100, **source)}


async def gather_alerts(ask: Ask) -> Mapping[str, Any]:
    return {"alerts": await ask("alerts.alerts")}


async def gather_audit(ask: Ask) -> Mapping[str, Any]:
    asked = {name: ask.query[name] for name in ("action", "since", "limit") if ask.query.get(name)}
    # Where nobody can sign in there is nobody to be shown. Who came, and from where, is in the log for all who read it;
    # the list of who is in now is what sessions are ended by, and for those who may.
    has_sessions = ask.desk.inbox.settings.oidc is not None and ask.operator.role.may(Role.ADMIN)
    people = {"people": await ask("sessions.sessions")} if has_sessions else {}
    verified = await ask.shared("audit.verify", VERIFIED_SECONDS)
    return {"audit": await ask("audit.audit", **asked), "verified": verified, **people}


def draw_audit(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    found = parts["audit"].value
    return {
        "people": parts.get("people"),
        "rows": [(one, _words(one.what), _words(one.came_to)) for one in found.operations] if found else [],
    }


def _words(what: Mapping[str, Any]) -> str:
    """`filter state:dead, count 12`."""
    told = {name: value if isinstance(value, str | int | float) else json.dumps(value) for name, value in what.items()}
    return ", ".join(f"{name} {value}" for name, value in told.items())


async def gather_doctor(ask: Ask) -> Mapping[str, Any]:
    return {"doctor": await ask("doctor.doctor")}


def draw_doctor(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    """What is wrong first."""
    found = parts["doctor"].value
    return {"checks": sorted(found.checks, key=lambda one: SEVERITY.get(str(one.level), 0)) if found else []}


PAGES = (
    Page("lanes", "/lanes", "Lanes", gather_lanes, draw_lanes),
    Page("rejected", "/rejected", "Refusals", gather_rejections),
    Page("alerts", "/alerts", "Alerts", gather_alerts),
    Page("audit", "/audit", "Operator log", gather_audit, draw_audit),
    Page("doctor", "/doctor", "Doctor", gather_doctor, draw_doctor),
)

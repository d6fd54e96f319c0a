"""Rules about what runs Landfast: processes, disks, clocks, breakers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from landfast.domain.alerts.alert import AlertName, Finding, Severity
from landfast.domain.alerts.observation import Observation, Pulse
from landfast.domain.alerts.thresholds import Thresholds
from landfast.domain.switch import SwitchKind

ROLES = ("intake", "worker", "drainer")
START = {"intake": "landfast serve", "worker": "landfast work", "drainer": "landfast drain"}

MISSED_FOR = timedelta(days=1)
"""A role that nobody has had for longer is not missed any more: it was taken away on purpose."""

ALMOST_FULL = 0.1
"""Of the bytes from which on a disk is low: now it is a matter of minutes."""

WRONG_TIME_SECONDS = 300.0
"""From which on most senders' signatures are refused."""


def spool_in_use(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    for host, pulses in _machines(seen, limits):
        waiting = sum(pulse.spool_records for pulse in pulses)
        if waiting:
            yield Finding(
                AlertName.SPOOL_IN_USE,
                host,
                Severity.WARNING,
                f"{waiting:,} records wait in the spool of {host}: the inbox could not take them in.",
                "bring the inbox back: landfast doctor; they follow by themselves. Keep that machine and its disk",
                {"records": waiting},
            )


def breaker_open(seen: Observation, limits: Thresholds) -> Iterator[Finding]:  # noqa: ARG001 - as all rules
    for switch in seen.switches:
        if switch.kind is SwitchKind.BREAKER:
            yield Finding(
                AlertName.BREAKER_OPEN,
                switch.name,
                Severity.ERROR,
                f"The breaker {switch.name} opened on {switch.at:%Y-%m-%d at %H:%M:%SZ}: {switch.why}",
                "put right what is broken; the workers try again by themselves, and no attempt is lost meanwhile",
                {"since": switch.at.isoformat()},
            )


def clock_skew(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    for host, pulses in _machines(seen, limits):
        worst = max((pulse.skew_seconds for pulse in pulses), key=abs)
        if abs(worst) >= limits.skew_seconds:
            yield Finding(
                AlertName.CLOCK_SKEW,
                host,
                Severity.ERROR if abs(worst) >= WRONG_TIME_SECONDS else Severity.WARNING,
                f"The clock of {host} is {abs(worst):,.0f} s {'ahead of' if worst > 0 else 'behind'} the database's.",
                "start its time service (chronyd, systemd-timesyncd); signed times are checked against this clock",
                {"seconds": round(worst, 1)},
            )


def disk_low(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    for host, pulses in _machines(seen, limits):
        free = min((pulse.free_bytes for pulse in pulses if pulse.free_bytes is not None), default=None)
        if free is not None and free < limits.disk_bytes:
            yield Finding(
                AlertName.DISK_LOW,
                host,
                Severity.CRITICAL if free < ALMOST_FULL * limits.disk_bytes else Severity.ERROR,
                f"{free / 1024**2:,.0f} MiB are free on a disk of {host} that Landfast writes to.",
                "make room before it is full: landfast retention run; once it is full: landfast retention run --now"
                " --bodies 7d; until then every sender is told 503",
                {"free_bytes": free},
            )


def nobody_alive(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    alive = {pulse.role for pulse in _fresh(seen, limits)}
    missed = {pulse.role for pulse in seen.pulses if pulse.seen_at > seen.at - MISSED_FOR} - alive
    waited = (seen.at - seen.untried_since).total_seconds() if seen.untried_since else 0.0
    if "worker" not in alive and waited >= limits.alive_seconds:
        missed.add("worker")
    for role in ROLES:
        if role in missed:
            heard = max((pulse.seen_at for pulse in seen.pulses if pulse.role == role), default=None)
            told = f"; the last one was heard at {heard:%H:%M:%SZ}" if heard else ", and events wait"
            yield Finding(
                AlertName.NOBODY_ALIVE,
                role,
                Severity.CRITICAL,
                f"No {role} is alive{told}.",
                f"start one: {START[role]}; its log says why the last one ended",
                {"waiting_seconds": round(waited)},
            )


def _fresh(seen: Observation, limits: Thresholds) -> list[Pulse]:
    return [pulse for pulse in seen.pulses if (seen.at - pulse.seen_at).total_seconds() < limits.alive_seconds]


def _machines(seen: Observation, limits: Thresholds) -> Iterable[tuple[str, list[Pulse]]]:
    found: dict[str, list[Pulse]] = {}
    for pulse in _fresh(seen, limits):
        found.setdefault(pulse.host, []).append(pulse)
    return sorted(found.items())

"""What an alert is: something that a rule found, from its first notice to its last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

Figure = int | float | str

RUNBOOKS = "docs/runbooks"
"""Where the pages are, unless the settings name an address."""


class AlertName(StrEnum):
    """Each has a rule, and a page of this name among the runbooks."""

    DEAD_LETTERS = "dead-letters"
    FAILING_HANDLER = "failing-handler"
    DUPLICATE_STORM = "duplicate-storm"
    DUPLICATES_GONE = "duplicates-gone"
    VOLUME_HIGH = "volume-high"
    VOLUME_LOW = "volume-low"
    SOURCE_SILENT = "source-silent"
    OLDEST_WAITING = "oldest-waiting"
    SPOOL_IN_USE = "spool-in-use"
    BREAKER_OPEN = "breaker-open"
    CLOCK_SKEW = "clock-skew"
    UNVERIFIED_FLOOD = "unverified-flood"
    ONLY_REFUSALS = "only-refusals"
    NOBODY_ALIVE = "nobody-alive"
    DISK_LOW = "disk-low"
    INBOX_AWAY = "inbox-away"


class Severity(StrEnum):
    """As PagerDuty calls them."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found at one look."""

    name: AlertName
    subject: str
    """The source, handler, machine or part that it is about; empty for the whole inbox."""
    severity: Severity
    sentence: str
    fix: str
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that was found, from its first look to its last: an incident."""

    incident: str
    """32 hexadecimal digits, drawn when it began. Every notice of it carries them."""
    name: AlertName
    subject: str
    severity: Severity
    sentence: str
    fix: str
    figures: Mapping[str, Figure]
    since: datetime
    seen_at: datetime
    """When it was last found."""
    told_at: datetime | None = None
    """When the last notice about it was made; None while it is silenced from the start."""
    told: int = 0
    """How many notices there were."""
    resolved_at: datetime | None = None

    @property
    def label(self) -> str:
        return label(self.name, self.subject)


def label(name: str, subject: str) -> str:
    """How people write it: `failing-handler/create_order`."""
    return f"{name}/{subject}" if subject else str(name)


def runbook(name: AlertName, base: str = "") -> str:
    """The page about it: a file of this repository, or below the address in the settings."""
    return f"{base.rstrip('/')}/{name}" if base else f"{RUNBOOKS}/{name}.md"


class NoticeKind(StrEnum):
    FIRING = "firing"
    REPEATED = "repeated"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Notice:
    """One message about an alert, before it is known who gets it."""

    id: str
    """The same at every try and for every sink, so that a receiver can drop repeats."""
    kind: NoticeKind
    alert: Alert


@dataclass(frozen=True, slots=True)
class Silence:
    """An operator does not want to hear of it for a while."""

    name: str
    """Of an alert."""
    subject: str
    """Empty for all of them."""
    until: datetime
    who: str
    why: str
    at: datetime

    def covers(self, name: str, subject: str, now: datetime) -> bool:
        return self.name == name and self.subject in ("", subject) and now < self.until

"""While the inbox is away, alerts can neither be found nor kept in it. So intakes tell of that one themselves.

Each intake process tells for itself, at least once, under one incident, by which a receiver knows that they are one.

Whoever told of it may be restarted before the inbox is back, and then nobody here knows that there is an end to tell. A
pager rings on until it is told. So an intake that finds the inbox there at its first look ends the incident at every
sink that closes by its key: where there is none, that changes nothing. Whoever still misses the inbox opens it again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from landfast.alerting.content import Content, content_of
from landfast.alerting.evaluate import log_notice
from landfast.alerting.plan import Plan
from landfast.alerting.senders import Senders
from landfast.alerting.sink import SinkError
from landfast.domain.alerts.alert import Alert, AlertName, Notice, NoticeKind, Severity

AWAY_SECONDS = 60.0
"""Until somebody is told: a restart of a database takes less."""

TOLD_AGAIN = timedelta(minutes=5)
"""To sinks that close by a key: an intake elsewhere, which has the inbox, may have ended the incident."""

CLOSE_BY_KEY = frozenset({"pagerduty"})
"""Kinds of sinks that have open incidents, and forget the end of one that they do not know."""


class Outage:
    def __init__(self, plan: Plan, senders: Senders, *, store: str, new_id: Callable[[], str]) -> None:
        self._plan = plan
        self._senders = senders
        self._new_id = new_id
        self._incident = hashlib.sha256(f"inbox-away {store}".encode()).hexdigest()[:32]
        self._since: datetime | None = None
        self._told: Alert | None = None
        self._told_at: datetime | None = None
        self._has_looked = False
        self._unsent: list[tuple[str, Content]] = []

    async def failed(self, now: datetime, error: Exception) -> None:
        """The inbox did not answer at this look."""
        self._has_looked = True
        self._since = self._since or now
        is_long = now - self._since >= timedelta(seconds=AWAY_SECONDS)
        if is_long and self._told is None and AlertName.INBOX_AWAY not in self._plan.off:
            self._told = self._alert(now, error)
            self._add(NoticeKind.FIRING, self._told, now)
        elif self._told is not None and self._told_at is not None and now - self._told_at >= TOLD_AGAIN:
            self._add(NoticeKind.REPEATED, self._told, now, only_by_key=True)
        await self._send()

    async def answered(self, now: datetime) -> None:
        """It did."""
        self._since = None
        if self._told is not None:
            self._add(NoticeKind.RESOLVED, self._told, now)
            self._told = None
        elif not self._has_looked and AlertName.INBOX_AWAY not in self._plan.off:
            self._add(NoticeKind.RESOLVED, self._alert(now, "it may have been away"), now, only_by_key=True)
        self._has_looked = True
        await self._send()

    def _alert(self, now: datetime, error: Exception | str) -> Alert:
        return Alert(
            incident=self._incident,
            name=AlertName.INBOX_AWAY,
            subject="",
            severity=Severity.CRITICAL,
            sentence=f"The inbox does not answer: {error}",
            fix="landfast doctor says why; with a spool senders still get their 200, without one they get 503",
            figures={"seconds": round((now - (self._since or now)).total_seconds())},
            since=self._since or now,
            seen_at=now,
            told_at=now,
            told=1,
        )

    def _add(self, kind: NoticeKind, alert: Alert, now: datetime, *, only_by_key: bool = False) -> None:
        notice = Notice(self._new_id(), kind, alert)
        if not only_by_key:
            log_notice(notice, self._plan.runbooks)
        content = content_of(notice, now, inbox=b"", runbooks=self._plan.runbooks)
        sinks = [sink for sink in self._plan.sinks if sink.kind in CLOSE_BY_KEY or not only_by_key]
        self._unsent += [(sink.name, content) for sink in sinks]
        self._told_at = now

    async def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        names = dict.fromkeys(name for name, _ in unsent)
        left = await asyncio.gather(
            *(self._send_to(name, [told for at, told in unsent if at == name]) for name in names)
        )
        self._unsent = [(name, content) for name, contents in zip(names, left, strict=True) for content in contents]

    async def _send_to(self, name: str, contents: Sequence[Content]) -> Sequence[Content]:
        """Those that it did not take. What follows one of them waits, so that nobody hears the end first."""
        for number, content in enumerate(contents):
            try:
                await self._senders.send(name, content)
            except SinkError:
                return contents[number:]
        return ()

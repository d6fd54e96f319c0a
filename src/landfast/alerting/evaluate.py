"""One look at the inbox: read what the rules need, let them judge, keep what they found and what is to be told.

It costs the same behind any backlog and any history: minutes that were read before are kept in memory, what is usual is
read once in a quarter of an hour, and nothing looks at an event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from landfast import telemetry
from landfast.alerting.content import content_of, encoded
from landfast.alerting.plan import Plan
from landfast.domain.alerts.alert import AlertName, Notice, NoticeKind, runbook
from landfast.domain.alerts.observation import RECENT_MINUTES, Counted, Observation, Pulse, by_minute
from landfast.domain.alerts.rules import findings
from landfast.domain.alerts.states import Step, step
from landfast.domain.alerts.volumes import (
    BY_HANDLER,
    BY_SOURCE,
    QUARTER,
    Past,
    quarter_of,
    quarters_wanted,
    volumes,
)
from landfast.domain.ids import BootId
from landfast.domain.message import Message
from landfast.domain.rates import MINUTES_KEPT, Heartbeat, Meter, minute_of
from landfast.ports.clock import Chance
from landfast.ports.inbox import Inbox

TASK = "alerts"
"""The duty of whoever evaluates."""

REREAD = timedelta(minutes=3)
"""Minutes that are read again at each look: reports come every second, and some come late."""

COUNTED_AFTER = timedelta(minutes=2)
"""The end of a quarter of an hour, before it is added up: by then its reports are there."""

CAUSES_FOR = timedelta(minutes=5)
"""As long as the rule about refusals looks back."""

CAUSES_READ = 200
"""Rows of rejections, of which there is one for many alike."""

QUARTERS_AT_ONCE = 16
"""That one look adds up after a time without any."""


class Evaluator:
    def __init__(self, inbox: Inbox, plan: Plan, chance: Chance, *, who: BootId) -> None:
        self._inbox = inbox
        self._plan = plan
        self._chance = chance
        self._who = who
        self._identity = b""
        self._recent: dict[datetime, Counter[Counted]] = {}
        self._read_at: datetime | None = None
        self._past = Past()
        self._learnt_for: datetime | None = None
        self._looked_at: datetime | None = None

    async def look(self, now: datetime) -> tuple[Observation, Step | None]:
        """What was seen, and what follows from it; None where somebody else has taken over meanwhile."""
        seen = await self.observe(now)
        off = self._plan.off | (set() if self._has_watched(now) else {AlertName.NOBODY_ALIVE})
        self._looked_at = now
        made = step(
            await self._inbox.firing(),
            findings(seen, self._plan.thresholds, off=off),
            await self._inbox.silences(),
            now,
            patience=self._plan.patience,
            new_id=self._new_id,
        )
        if made.changed:
            messages = await self._messages(made.notices, now)
            if not await self._inbox.save_alerts(made.changed, messages, task=TASK, who=self._who):
                return seen, None
            for notice in made.notices:
                log_notice(notice, self._plan.runbooks)
        return seen, made

    def _has_watched(self, now: datetime) -> bool:
        """Whether the inbox was there a moment ago. When it is back after an outage, nobody was heard of for a while,
        and all are well."""
        alive = timedelta(seconds=self._plan.thresholds.alive_seconds)
        return self._looked_at is not None and now - self._looked_at < alive

    async def observe(self, now: datetime) -> Observation:
        await self._read(now)
        await self._learn(now)
        heard: dict[str, datetime] = {}
        for one in await self._inbox.latest_rates():
            if one.source and one.meter in (Meter.STORED, Meter.DUPLICATE):
                heard[one.source] = max(heard.get(one.source, one.at), one.at)
        return Observation(
            at=now,
            recent=self._recent,
            past=self._past,
            pulses=[_pulse(beat, now) for beat in await self._inbox.heartbeats()],
            switches=await self._inbox.switches(),
            heard=heard,
            causes=await self._causes(now),
            untried_since=await self._inbox.untried_since(),
        )

    async def _causes(self, now: datetime) -> dict[str, Counter[str]]:
        since = minute_of(now) - CAUSES_FOR
        found: dict[str, Counter[str]] = {}
        # Nobody asks where nothing was refused, which is nearly always.
        if any(key.meter is Meter.REJECTED for at, counts in self._recent.items() if at > since for key in counts):
            for one in await self._inbox.rejections(since=since, limit=CAUSES_READ):
                found.setdefault(one.source, Counter())[one.cause] += one.count
        return found

    async def _read(self, now: datetime) -> None:
        oldest = minute_of(now) - timedelta(minutes=RECENT_MINUTES)
        # Somebody who was not on duty for a while has read nothing meanwhile.
        is_new = self._read_at is None or not timedelta(0) <= now - self._read_at < REREAD
        since = oldest if is_new else minute_of(now) - REREAD
        fresh = by_minute(await self._inbox.rates(since))
        kept = {} if is_new else {minute: told for minute, told in self._recent.items() if oldest <= minute < since}
        self._recent, self._read_at = {**kept, **fresh}, now

    async def _learn(self, now: datetime) -> None:
        """Add up the quarters that are over, and read what they say about now."""
        last = await self._inbox.last_quarter()
        begin = quarter_of(now - MINUTES_KEPT) + QUARTER
        begin = begin if last is None else max(begin, last + QUARTER)
        end = quarter_of(now - COUNTED_AFTER)
        quarters = [begin + number * QUARTER for number in range(min((end - begin) // QUARTER, QUARTERS_AT_ONCE))]
        if quarters:
            found = await self._inbox.rates(begin, quarters[-1] + QUARTER, meters=BY_SOURCE | BY_HANDLER)
            await self._inbox.add_volumes(quarters, volumes(found))
        if quarters or self._learnt_for != quarter_of(now):
            self._past = Past.of(*await self._inbox.volumes(quarters_wanted(now)))
            self._learnt_for = quarter_of(now)

    async def _messages(self, notices: Sequence[Notice], now: datetime) -> list[Message]:
        if notices and not self._identity:
            self._identity = await self._inbox.identity()
        return [
            Message(
                notice.id,
                sink.name,
                encoded(content_of(notice, now, inbox=self._identity, runbooks=self._plan.runbooks)),
                notice.alert.incident,
                notice.kind,
            )
            for notice in notices
            for sink in self._plan.sinks
        ]

    def _new_id(self) -> str:
        return self._chance.bytes(16).hex()


def log_notice(notice: Notice, runbooks: str) -> None:
    """The log is told in any case: there may be no sink."""
    alert, page = notice.alert, runbook(notice.alert.name, runbooks)
    match notice.kind:
        case NoticeKind.RESOLVED:
            telemetry.info("alert_resolved", alert=alert.label, reason=alert.sentence)
        case NoticeKind.REPEATED:
            telemetry.warn("alert_repeated", alert=alert.label, reason=alert.sentence, fix=alert.fix, runbook=page)
        case _:
            telemetry.warn("alert_firing", alert=alert.label, reason=alert.sentence, fix=alert.fix, runbook=page)


def _pulse(beat: Heartbeat, now: datetime) -> Pulse:
    disks = [disk["free"] for disk in beat.doing.get("disks", ()) if "free" in disk]
    return Pulse(
        # One that is there for suspects alone takes nothing that comes.
        role="suspects" if beat.doing.get("suspects_only") else beat.role,
        host=beat.host,
        seen_at=now - timedelta(seconds=beat.age),
        spool_records=int(beat.doing.get("spool_records", 0)),
        free_bytes=min(disks, default=None),
        skew_seconds=beat.skew,
    )

"""What operators do with alerts: look at them, silence them, and try the sinks."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from landfast.alerting.content import Content
from landfast.alerting.plan import Plan
from landfast.alerting.senders import Senders
from landfast.alerting.sink import SinkError
from landfast.domain.alerts.alert import Alert, AlertName, NoticeKind, Severity, Silence
from landfast.domain.errors import UserError
from landfast.domain.message import WaitingMessage
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from landfast.ports.alerts import Alerting
from landfast.ports.inbox import Inbox

RESOLVED_SHOWN = 20
MESSAGES_SHOWN = 1_000
ABOUT_ALERTS = "docs/howto/be-told-in-time.md"


@dataclass(frozen=True, slots=True)
class Listing:
    firing: Sequence[Alert]
    silences: Sequence[Silence]
    unsent: Sequence[WaitingMessage]
    """Messages that their receivers have not taken, or refuse."""
    resolved: Sequence[Alert]


@dataclass(frozen=True, slots=True)
class Tried:
    """What a sink said to a test."""

    sink: str
    kind: str
    is_taken: bool
    answer: str


async def listing(inbox: Alerting, *, resolved: int = RESOLVED_SHOWN) -> Listing:
    return Listing(
        firing=await inbox.firing(),
        silences=await inbox.silences(),
        # A message that nobody has tried yet is on its way; one with an error is worth a word.
        unsent=[one for one in await inbox.waiting_messages(limit=MESSAGES_SHOWN) if one.error],
        resolved=await inbox.resolved(limit=resolved),
    )


def named(text: str) -> tuple[str, str]:
    """The alert and its subject that `NAME` or `NAME/SUBJECT` means."""
    name, _, subject = text.partition("/")
    if name not in {*AlertName}:
        near = difflib.get_close_matches(name, list(map(str, AlertName)), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(AlertName)}"
        raise UserError(f"there is no alert {name!r}; {hint}")
    return name, subject


async def silence(inbox: Inbox, text: str, *, seconds: float, who: str, why: str) -> datetime:
    """Tell nobody of it for so long; until when."""
    name, subject = named(text)
    if seconds <= 0:
        raise UserError("silence: give a time that is still to come, such as --for 2h")
    what = {"alert": text, "seconds": seconds}
    async with audited(inbox, Action.SILENCE, who=who, why=why, what=what) as audit:
        until = await inbox.silence(name, subject, lasting=seconds, who=who, why=why)
        audit.note(until=until)
    return until


async def unsilence(inbox: Inbox, text: str, *, who: str) -> bool:
    """Tell of it again; whether it was silenced."""
    name, subject = named(text)
    async with audited(inbox, Action.SILENCE, who=who, what={"alert": text, "seconds": 0}) as audit:
        was = await inbox.unsilence(name, subject)
        audit.note(was_silenced=was)
    return was


async def try_sinks(plan: Plan, *, now: datetime, inbox: bytes, new_id: str) -> Sequence[Tried]:
    """Send a test to each, all at once; what each answered. Nothing is kept, and nothing tried again."""
    senders = Senders(plan.sinks)
    test = Content(
        id=new_id,
        kind=NoticeKind.TEST,
        incident=new_id,
        alert="test",
        subject="",
        severity=Severity.WARNING,
        sentence="This is a test of Landfast's alerts. Nothing is wrong.",
        fix="nothing; if you can read this, the sink works",
        figures={},
        since=now,
        at=now,
        runbook=ABOUT_ALERTS,
        inbox=inbox.hex(),
    )

    async def attempt(name: str, kind: str) -> Tried:
        try:
            answer = await senders.send(name, test)
            if kind == "pagerduty":  # what was opened is closed again
                answer = await senders.send(name, msgspec.structs.replace(test, kind=NoticeKind.RESOLVED))
        except SinkError as error:
            return Tried(name, kind, is_taken=False, answer=str(error))
        return Tried(name, kind, is_taken=True, answer=answer)

    try:
        return await asyncio.gather(*(attempt(sink.name, sink.kind) for sink in plan.sinks))
    finally:
        senders.close()

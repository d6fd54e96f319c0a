"""Pause and resume, as operators do: with a line in the operator log."""

from __future__ import annotations

from landfast.domain.operator_log import Action
from landfast.domain.switch import Switch, SwitchKind
from landfast.operations.operator_log import audited
from landfast.ports.inbox import Inbox
from landfast.recovery import switches


async def pause(inbox: Inbox, kind: SwitchKind, name: str, *, who: str, why: str, now: bool) -> Switch | None:
    """The pause that was there before. It stays as it is, unless there is something new to say about it."""
    before = next((one for one in await switches.paused(inbox) if (one.kind, one.name) == (kind, name)), None)
    if before is None or why or now:
        why = why or (before.why if before else "")
        async with audited(inbox, Action.PAUSE, who=who, why=why, what={kind: name, "now": now}):
            await inbox.throw(kind, name, why=why, who=who, at_once=now)
    return before


async def resume(inbox: Inbox, kind: SwitchKind, name: str, *, who: str, why: str) -> int | None:
    """How many that waited are ready; None where it was not paused."""
    async with audited(inbox, Action.RESUME, who=who, why=why, what={kind: name}) as audit:
        resumed = await switches.resume(inbox, kind, name)
        audit.counted(resumed or 0)
        audit.note(was_paused=resumed is not None)
    return resumed

"""Pause and resume a source, a handler or a dependency; have the settings read anew."""

from __future__ import annotations

from typing import Literal

from landfast import config
from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Name, Why
from landfast.admin.problems import NothingThereError
from landfast.config import nearest
from landfast.domain.access import Operator
from landfast.domain.errors import UserError
from landfast.domain.operator_log import Action
from landfast.domain.switch import SwitchKind
from landfast.operations import switching
from landfast.operations.operator_log import audited
from landfast.recovery.switches import paused

Kind = Literal["source", "handler", "dependency"]


class Pause(Asked):
    kind: Kind
    name: Name
    now: bool = False
    """Take back what workers have in hand, too; no attempt is counted."""
    why: Why = ""


class Paused(Answered):
    was_paused: bool


class Resume(Asked):
    kind: Kind
    name: Name
    why: Why = ""


class Resumed(Answered):
    was_paused: bool
    events: int
    """That waited, and are ready now."""


class Reload(Asked):
    why: Why = ""


class Reloaded(Answered):
    asked: bool
    """What is read is tried first; what is wrong with it is said in the log, and changes nothing."""


async def reload(desk: Desk, asked: Reload, by: Operator) -> Reloaded:
    """Have the server on this machine read its settings, sources and secrets anew, as SIGHUP does. No request is
    refused meanwhile."""
    if desk.reload is None:
        raise UserError("reload: this dashboard has no landfast serve around it; restart the application instead")
    if desk.inbox.settings.file is not None:
        config.load(desk.inbox.settings.file)  # for what it refuses
    async with audited(desk.archive, Action.RELOAD, who=by.name, why=asked.why, what={}):
        desk.reload()
    return Reloaded(asked=True)


async def pause(desk: Desk, asked: Pause, by: Operator) -> Paused:
    """Stop processing: what comes in is still acknowledged and kept, waits, and loses no attempt."""
    kind = SwitchKind(asked.kind)
    _must_be_known(asked.name, known(desk)[kind], kind)
    before = await switching.pause(desk.archive, kind, asked.name, who=by.name, why=asked.why, now=asked.now)
    return Paused(was_paused=before is not None)


async def resume(desk: Desk, asked: Resume, by: Operator) -> Resumed:
    """Go on with what was paused, beginning with what has waited."""
    kind = SwitchKind(asked.kind)
    switched_off = {one.name for one in await paused(desk.archive) if one.kind is kind}
    # One that is switched off may be in the code no longer.
    _must_be_known(asked.name, known(desk)[kind] | switched_off, kind)
    events = await switching.resume(desk.archive, kind, asked.name, who=by.name, why=asked.why)
    return Resumed(was_paused=events is not None, events=events or 0)


def known(desk: Desk) -> dict[SwitchKind, set[str]]:
    inbox = desk.inbox
    return {
        SwitchKind.SOURCE: {*inbox.sources},
        SwitchKind.HANDLER: {handler.name for handler in inbox.registry.handlers},
        SwitchKind.DEPENDENCY: {*inbox.registry.used},
    }


def _must_be_known(name: str, names: set[str], kind: SwitchKind) -> None:
    if name not in names:
        hint = nearest(name, names) or f"; there are: {', '.join(sorted(names)) or 'none'}"
        raise NothingThereError(f"there is no {kind} {name!r}{hint}")

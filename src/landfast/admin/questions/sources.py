"""Sources: how each is proven, by which secrets, what it sent lately, and how to change a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Minutes, Name
from landfast.admin.problems import NothingThereError
from landfast.admin.route import Nothing
from landfast.app.rotation_progress import Progress, progress
from landfast.app.source_listing import source_fields
from landfast.app.sources import wants_of
from landfast.config import SourceSettings, nearest
from landfast.domain.switch import Switch, SwitchKind
from landfast.operations.flow_status import SourceStatus
from landfast.operations.status import WINDOW_MINUTES, status
from landfast.recovery.switches import paused


class SourcesAsked(Asked):
    minutes: Minutes = WINDOW_MINUTES


class SourceView(Answered):
    name: str
    settings: Mapping[str, Any]
    """As `landfast sources list --json` says them: secrets by name, never their values. Empty for one that is not
    configured any more."""
    flow: SourceStatus
    paused: Switch | None


class Sources(Answered):
    minutes: int
    sources: Sequence[SourceView]


class RotationAsked(Asked):
    source: Name
    new: str | None = None
    """Where the new secret will be: env:NAME or file:PATH."""
    hours: float | None = None
    """How long both count."""


class Rotation(Answered):
    """What to do, step by step, and how far it is. The API changes no secret: they stand in the settings and the
    environment."""

    progress: Progress
    can_reload: bool
    """Whether the settings can be read anew from here."""


class UnhandledRow(Answered):
    source: str
    type: str
    count: int
    then: str
    """What becomes of them by the settings as they are now: keep, done, dead, ignored; empty where the source is
    gone."""


class Unhandled(Answered):
    rows: Sequence[UnhandledRow]
    """Most first."""


async def sources(desk: Desk, asked: SourcesAsked) -> Sources:
    """Every source: how it is proven, by which secrets, and what it sent lately."""
    now = desk.now()
    seen = await status(desk.archive, now=now, sources=desk.inbox.sources, minutes=asked.minutes)
    pauses = {one.name: one for one in await paused(desk.archive) if one.kind is SwitchKind.SOURCE}
    configured = desk.inbox.sources
    return Sources(
        minutes=asked.minutes,
        sources=[
            SourceView(
                name=flow.name,
                settings=source_fields(configured[flow.name], now.timestamp()) if flow.name in configured else {},
                flow=flow,
                paused=pauses.get(flow.name),
            )
            for flow in seen.sources
        ],
    )


async def secret_rotation(desk: Desk, asked: RotationAsked) -> Rotation:
    """How to change the secret of a source without refusing one request, and how far that is."""
    settings = source_named(desk, asked.source)
    processes = await desk.archive.heartbeats()
    found = progress(desk.inbox, settings, processes, new=asked.new, hours=asked.hours)
    return Rotation(progress=found, can_reload=desk.reload is not None)


async def unhandled(desk: Desk, _asked: Nothing) -> Unhandled:
    """How many events of each source and type wait for a handler."""
    counts = sorted(await desk.archive.unhandled(), key=lambda one: (-one.count, one.source, one.type))
    return Unhandled(
        rows=[
            UnhandledRow(source=one.source, type=one.type, count=one.count, then=_then(desk, one.source, one.type))
            for one in counts
        ]
    )


def source_named(desk: Desk, name: str) -> SourceSettings:
    found = desk.inbox.sources.get(name)
    if found is None:
        hint = nearest(name, desk.inbox.sources) or f"; there are: {', '.join(desk.inbox.sources) or 'none'}"
        raise NothingThereError(f"there is no source {name!r}{hint}")
    return found


def _then(desk: Desk, source: str, kind: str) -> str:
    if source not in desk.inbox.sources:
        return ""
    wants = wants_of(desk.inbox.sources[source])
    return "ignored" if wants.ignores(kind) else str(wants.unhandled)

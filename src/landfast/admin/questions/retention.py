"""How long everything is kept, when the last pass was, and what the next one would remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.route import Nothing
from landfast.domain.lifecycle import State
from landfast.domain.retention import FOREVER, Ages, Counts
from landfast.operations.retention import preview


class Kept(Answered):
    """Seconds; None for ever."""

    bodies: float | None
    dead: float | None
    unhandled: float | None
    memory: float | None
    history: float | None


class RetentionView(Answered):
    default: Kept
    sources: Mapping[str, Kept]
    """Those that differ."""
    receipts: float | None
    began_at: datetime | None
    ended_at: datetime | None
    is_running: bool
    oldest: datetime | None
    """When the oldest event came that is whole."""


class Removal(Answered):
    source: str
    state: str
    bodies: int
    events: int


class Removals(Answered):
    would_remove: Sequence[Removal]


async def retention(desk: Desk, _asked: Nothing) -> RetentionView:
    """How long everything is kept, and when the last pass was."""
    kept, last = desk.inbox.retention, await desk.archive.last_pass()
    return RetentionView(
        default=_kept(kept.default),
        sources={name: _kept(ages) for name, ages in kept.sources.items()},
        receipts=_seconds(kept.receipts),
        began_at=last.began_at,
        ended_at=last.ended_at,
        is_running=last.is_running,
        oldest=last.oldest,
    )


async def would_remove(desk: Desk, _asked: Nothing) -> Removals:
    """What a pass would remove from the inbox now."""
    return Removals(would_remove=removals(await preview(desk.archive, desk.inbox.retention)))


def removals(counts: Counts) -> list[Removal]:
    return [
        Removal(source=source, state=state, bodies=one.bodies, events=one.events)
        for (source, state), one in sorted(counts.items(), key=lambda item: item[0])
    ]


def _kept(ages: Ages) -> Kept:
    return Kept(
        bodies=_seconds(ages.bodies),
        dead=_seconds(ages.dead),
        unhandled=_seconds(ages.row(State.UNHANDLED)),
        memory=_seconds(ages.memory),
        history=_seconds(ages.row(State.DONE)),
    )


def _seconds(seconds: float) -> float | None:
    return None if seconds == FOREVER else seconds

"""Which step of a pass is next: decided from what there is, so that whoever was killed is followed by the same step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from landfast.domain.lifecycle import State
from landfast.domain.retention import EXPIRES, Retention

WEEK = timedelta(days=7)
EARLIEST, LATEST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

KEPT, PROOFS = "kept", "proof"
"""Parts that are no week."""


class Week(NamedTuple):
    """A table of one week of bodies or of lines."""

    name: str
    parent: str
    """body or history"""
    monday: datetime
    is_attached: bool
    is_pending: bool
    """On its way out: nobody sees it any more but those who saw it before."""

    @property
    def end(self) -> datetime:
        return self.monday + WEEK

    @property
    def leaving(self) -> str:
        """The name of the walk before it goes, after which only what has left is in it."""
        return f"{self.name} leaves"


class Walk(NamedTuple):
    part: str
    began_at: datetime
    ended_at: datetime | None
    after_at: datetime
    after_id: bytes
    after_seq: int
    again_at: datetime | None = None
    """When something may be old enough that was not yet."""


@dataclass(frozen=True, slots=True)
class Close:
    """Let nothing more be written into this week."""

    week: Week


@dataclass(frozen=True, slots=True)
class WalkBodies:
    """Judge a few events of a part."""

    part: str
    walk: Walk | None
    """None to begin with."""
    start: datetime
    end: datetime
    is_kept: bool = False
    leaves: bool = False
    """The table goes afterwards: what stays is moved out of it, and what leaves need not be deleted there."""
    now: datetime = EARLIEST
    deletes_lines: bool = True
    """False where they are about to go with their own week."""


@dataclass(frozen=True, slots=True)
class WalkLines:
    """Move out of a week the lines of events that are still known."""

    week: Week
    walk: Walk


@dataclass(frozen=True, slots=True)
class WalkProofs:
    walk: Walk | None


@dataclass(frozen=True, slots=True)
class Detach:
    week: Week
    finalizes: bool = False
    """It was begun before."""


@dataclass(frozen=True, slots=True)
class Drop:
    week: Week


Job = Close | WalkBodies | WalkLines | WalkProofs | Detach | Drop


def next_job(
    weeks: Sequence[Week],
    walks: Mapping[str, Walk],
    retention: Retention,
    *,
    now: datetime,
    began_at: datetime,
    stuck: Collection[str] = (),
) -> Job | None:
    """`stuck` are tables that somebody reads, so that they cannot go in this pass."""
    free = [week for week in weeks if week.name not in stuck]
    for week in free:
        if week.is_pending:
            return Detach(week, finalizes=True)
        # Only after our own walk: somebody else may have taken a week off to keep it.
        if not week.is_attached and _is_over(walks.get(week.leaving)):
            return Drop(week)
    # A parent lets go of one at a time.
    busy = {week.parent for week in weeks if week.name in stuck}
    attached = [week for week in free if week.is_attached]
    # Lines stay until the bodies of their week are gone, also where these are stuck before all of them were looked
    # through: an event that leaves later is removed without its lines, which were to go with their week, and those that
    # were moved out of it would stay for ever.
    unwalked = [week for week in weeks if week.name in stuck and not _is_over(walks.get(week.leaving))]
    with_bodies = {week.monday for week in (*attached, *unwalked) if week.parent == "body"}
    for week in attached:
        job = _of_bodies(week, walks, retention, now) if week.parent == "body" else None
        if week.parent == "history" and week.monday not in with_bodies and _is_old(week, _rows_age(retention), now):
            job = _leaving(week, walks.get(week.leaving))
        if job is not None and not (isinstance(job, Detach) and week.parent in busy):
            return job
    if not _is_over(walk := walks.get(KEPT), since=began_at, now=now):
        return WalkBodies(KEPT, _going_on(walk), EARLIEST, LATEST, is_kept=True)
    if not _is_over(walk := walks.get(PROOFS), since=began_at, now=now):
        return WalkProofs(_going_on(walk))
    return None


def due_weeks(weeks: Sequence[Week], retention: Retention, now: datetime) -> list[Week]:
    """Weeks of bodies in which something may be old enough."""
    first = min(_early_ages(retention), default=retention.default.bodies)
    bodies = [week for week in weeks if week.parent == "body" and week.is_attached and not week.is_pending]
    return [week for week in bodies if _is_old(week, min(first, retention.default.bodies), now)]


def _of_bodies(week: Week, walks: Mapping[str, Walk], retention: Retention, now: datetime) -> Job | None:
    deletes_lines = not _is_old(week, _rows_age(retention), now)
    if _is_old(week, retention.default.bodies, now):
        job = _leaving(week, walk := walks.get(week.leaving))
        if not isinstance(job, WalkLines):
            return job
        return WalkBodies(week.leaving, walk, week.monday, week.end, leaves=True, deletes_lines=deletes_lines)
    walk = walks.get(week.name)
    is_under_way = walk is not None and walk.ended_at is None
    walking = WalkBodies(week.name, _going_on(walk), week.monday, week.end, now=now, deletes_lines=deletes_lines)
    for age in _early_ages(retention):
        is_walked = walk is not None and walk.began_at <= now and _is_old(week, age, walk.began_at)
        if is_under_way or (_is_old(week, age, now) and not is_walked):
            return walking
    return walking if walk is not None and _is_due_again(walk, now) else None


def _is_due_again(walk: Walk, now: datetime) -> bool:
    """Once a week at most: what became done later became so at any time."""
    return walk.again_at is not None and now >= max(walk.again_at, walk.began_at + WEEK)


def _leaving(week: Week, walk: Walk | None) -> Job:
    if walk is None:
        return Close(week)
    return Detach(week) if _is_over(walk) else WalkLines(week, walk)


def _early_ages(retention: Retention) -> list[float]:
    """Those at which something goes out of a week before all of it does."""
    found = {age for ages in retention.all for state in EXPIRES for age in (ages.content(state), ages.row(state))}
    return sorted(age for age in found if age < retention.default.bodies)


def _rows_age(retention: Retention) -> float:
    return retention.default.row(State.DONE)


def _is_old(week: Week, age: float, now: datetime) -> bool:
    return (now - week.end).total_seconds() >= age


def _is_over(walk: Walk | None, *, since: datetime = EARLIEST, now: datetime = LATEST) -> bool:
    """One that began later than now began by a clock that was ahead, and not in this pass."""
    return walk is not None and walk.ended_at is not None and since <= walk.began_at <= now


def _going_on(walk: Walk | None) -> Walk | None:
    """None where it has to begin anew."""
    return None if _is_over(walk) else walk

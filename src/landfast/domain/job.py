"""A replay of many events as a job: what is to be replayed, how far it has come, and who carries it out.

A job is a row of the inbox. What it has replayed and how far it has come are committed together, so whoever goes on
with it replays no event a second time. States and moves are in MAY_BECOME; a driver refuses every other one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

from landfast.domain.ids import EventId, HandlerName
from landfast.domain.outcome import NextRun
from landfast.domain.summary import Cursor

JobId = NewType("JobId", bytes)
"""6 random bytes: 12 digits to type."""

JOB_ID_BYTES = 6

FORGOTTEN_AFTER_SECONDS = 90 * 86_400.0
"""Of a job that is over: what it replayed is in the history of its events."""

CANARIES_AT_MOST = 100
"""Events: each is looked at once a second while its outcome is waited for."""


class JobState(StrEnum):
    RUNNING = "running"
    """Somebody carries it out, or may."""
    STOPPED = "stopped"
    """Whoever carried it out was interrupted; it can go on."""
    FAILED = "failed"
    """A canary failed, or the job met an error; it can go on."""
    CANCELLED = "cancelled"
    """For good. What it had replayed runs."""
    FINISHED = "finished"
    """Everything that matched was replayed."""


MAY_BECOME: dict[JobState, frozenset[JobState]] = {
    JobState.RUNNING: frozenset({JobState.STOPPED, JobState.FAILED, JobState.CANCELLED, JobState.FINISHED}),
    JobState.STOPPED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.FAILED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.CANCELLED: frozenset(),
    JobState.FINISHED: frozenset(),
}


def before(state: JobState) -> list[JobState]:
    """Those that may become this one."""
    return [begin for begin, ends in MAY_BECOME.items() if state in ends]


OVER = frozenset(state for state, ends in MAY_BECOME.items() if not ends)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an operator asks for."""

    terms: str
    """The filter, with all times absolute."""
    who: str
    why: str = ""
    forced: bool = False
    only: HandlerName | None = None
    """The handler that runs, where it is one alone."""
    rate: float | None = None
    """Events a second, at most."""
    canary: int = 0
    """So many are replayed first, and the rest once each of them is done."""
    oldest_first: bool = False
    is_background: bool = False
    """A worker carries it out."""
    total: int = 0
    """How many matched when it began, as far as they were counted."""

    @property
    def next_run(self) -> NextRun:
        return NextRun(self.forced, self.only)

    def replays_as(self, job: JobId) -> str:
        """Who it was, in the history of an event."""
        return f"{self.who}, job {job.hex()}"


@dataclass(frozen=True, slots=True)
class Job:
    id: JobId
    plan: Plan
    state: JobState
    created_at: datetime
    updated_at: datetime
    looked_at: int = 0
    replayed: int = 0
    cursor: Cursor | None = None
    """Behind the last event that it has looked at."""
    canaries: tuple[EventId, ...] = ()
    """Those whose outcome it waits for."""
    is_proven: bool = False
    """Its canaries went well, or it has none to wait for any more."""
    message: str = ""
    """Why it failed."""
    is_carried: bool = field(default=False, compare=False)
    """Whether somebody carries it out now."""

    @property
    def name(self) -> str:
        return self.id.hex()

    @property
    def is_running(self) -> bool:
        return self.state is JobState.RUNNING

    @property
    def waits_for_a_worker(self) -> bool:
        return self.is_running and self.plan.is_background and not self.is_carried

    @property
    def needs_canary(self) -> bool:
        return self.plan.canary > 0 and not self.is_proven

"""Which step of a pass is next on PostgreSQL, from what there is: no database is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from landfast.domain.retention import DAY_SECONDS, Ages, Retention
from landfast.inboxes.postgres.retention_plan import (
    EARLIEST,
    KEPT,
    PROOFS,
    WEEK,
    Close,
    Walk,
    WalkBodies,
    WalkProofs,
    Week,
    next_job,
)

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
NOW = MONDAY + 10 * WEEK
BEGAN = NOW - timedelta(minutes=1)
AHEAD = NOW + timedelta(days=365)
SHORT = Retention(Ages(*4 * (DAY_SECONDS,)))
MONTH = Retention(Ages(bodies=100 * DAY_SECONDS, dead=7 * DAY_SECONDS, memory=100 * DAY_SECONDS))


def week(parent: str) -> Week:
    return Week(f"{parent}_2026_01_05", parent, MONDAY, is_attached=True, is_pending=False)


def walked(part: str, began_at: datetime) -> dict[str, Walk]:
    return {part: Walk(part, began_at, began_at, EARLIEST, b"", 0)}


@pytest.mark.parametrize("ahead", [KEPT, PROOFS])
def test_a_walk_that_began_later_than_now_was_not_made_in_this_pass(ahead: str) -> None:
    walks = walked(KEPT, BEGAN) | walked(PROOFS, BEGAN)
    assert next_job([], walks, SHORT, now=NOW, began_at=BEGAN) is None
    assert next_job([], walks | walked(ahead, AHEAD), SHORT, now=NOW, began_at=BEGAN) is not None


def test_a_week_that_was_walked_by_a_clock_that_was_ahead_is_walked_again() -> None:
    bodies = week("body")
    whole = walked(KEPT, BEGAN) | walked(PROOFS, BEGAN)
    assert next_job([bodies], whole | walked(bodies.name, BEGAN), MONTH, now=NOW, began_at=BEGAN) is None
    job = next_job([bodies], whole | walked(bodies.name, AHEAD), MONTH, now=NOW, began_at=BEGAN)
    assert isinstance(job, WalkBodies)
    assert job.part == bodies.name


def test_the_lines_of_a_week_stay_until_its_bodies_are_gone() -> None:
    """Or they are moved to where nobody looks for them once their events have left."""
    bodies, lines = week("body"), week("history")
    assert next_job([bodies, lines], {}, SHORT, now=NOW, began_at=BEGAN) == Close(bodies)
    stuck = {bodies.name}
    walks: dict[str, Walk] = {}
    for expected in (KEPT, PROOFS):
        job = next_job([bodies, lines], walks, SHORT, now=NOW, began_at=BEGAN, stuck=stuck)
        assert isinstance(job, WalkBodies if expected == KEPT else WalkProofs)
        walks |= walked(expected, BEGAN)
    assert next_job([bodies, lines], walks, SHORT, now=NOW, began_at=BEGAN, stuck=stuck) is None
    begun = {bodies.leaving: Walk(bodies.leaving, BEGAN, None, EARLIEST, b"", 0)}
    assert next_job([bodies, lines], walks | begun, SHORT, now=NOW, began_at=BEGAN, stuck=stuck) is None
    # All of them have left, and somebody only reads the table.
    over = walked(bodies.leaving, BEGAN)
    assert next_job([bodies, lines], walks | over, SHORT, now=NOW, began_at=BEGAN, stuck=stuck) == Close(lines)
    assert next_job([lines], walks, SHORT, now=NOW, began_at=BEGAN) == Close(lines)

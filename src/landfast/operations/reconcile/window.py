"""How far back a run goes, so that all runs together leave no time out.

A run carries forward up to where a source is compared if it goes back as far as that. A shorter one, by hand, does not:
nobody has compared what lies before it, and that is still for the next run.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from landfast.domain.reconciliation import Reconciliation

GRACE_SECONDS = 300.0
"""An event that is younger may be on its way: senders take seconds, and their first retry comes after minutes."""

OVERLAP = timedelta(hours=1)
"""By which a run goes back behind the beginning of the last one: clocks differ, and lists lag."""

UNSURE = OVERLAP + timedelta(seconds=GRACE_SECONDS)
"""Before the beginning of a run: what happened then is compared once more by the next one."""

FIRST_WINDOW = timedelta(hours=72)
"""How far the first run goes back: the three days for which most senders retry, and GitHub lists."""


def due_since(compared_until: datetime | None, *, now: datetime, memory: timedelta) -> datetime:
    """Where the next run has to begin; never before what the inbox surely knows again."""
    return max(now - FIRST_WINDOW if compared_until is None else compared_until, now - memory)


def compared_by(begun: Reconciliation, *, now: datetime, memory: timedelta) -> datetime | None:
    """Up to where its source is compared when this run has come to its end; None where that is as it was."""
    if begun.since > due_since(begun.compared_until, now=now, memory=memory):
        return None
    return begun.begun_at - UNSURE

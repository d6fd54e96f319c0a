"""Whether the sources that compare themselves with their providers' lists do so: nobody watches a run by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from landfast.domain.reconciliation import Reconciliation
from landfast.operations.reconcile import UNSURE
from landfast.recovery.doctor import Check, Level

LATE_PERIODS = 2
"""One is missed when workers are deployed, or a provider is down for an hour. After two something is wrong."""

PLACE_AT_MOST = 200
"""Characters of an address that are shown: some providers' cursors fill a screen."""

WHO_DOES_IT = "see that a worker runs (landfast status), and look for reconcile_failed in its log"


def examine_reconciling(every: Mapping[str, float], last: Iterable[Reconciliation], now: datetime) -> list[Check]:
    """`every` has the seconds between two runs, by source."""
    found = {one.source: one for one in last}
    return [_examined(source, seconds, found.get(source), now) for source, seconds in every.items()]


def _examined(source: str, every: float, last: Reconciliation | None, now: datetime) -> Check:
    name, by_hand = f"reconcile {source}", f"landfast reconcile {source} --dry-run tries it by hand"
    if last is not None and last.ended_at is None and not last.is_running:
        return Check(
            name, Level.WARN, _interrupted(last), f"mend what it says; {by_hand}, and workers go on by themselves"
        )
    if last is None or last.compared_until is None:
        if last is not None and last.is_running:
            return Check(name, Level.OK, f"the first run goes on, {last.listed:,} listed so far")
        return Check(name, Level.WARN, "no run by itself has come to its end so far", f"{WHO_DOES_IT}; {by_hand}")
    begun = last.compared_until + UNSURE
    if begun + LATE_PERIODS * timedelta(seconds=every) < now:
        found = f"the last run that left nothing out began at {_time(begun)}, and one is due every {_hours(every)}"
        return Check(name, Level.WARN, found, f"{WHO_DOES_IT}; {by_hand}")
    counts = f"the last run listed {last.listed:,}, {last.missing:,} never arrived, {last.taken:,} were taken in"
    return Check(name, Level.OK, f"compared up to {_time(last.compared_until)}; {counts}")


def _interrupted(last: Reconciliation) -> str:
    why = last.error.removeprefix(f"reconcile {last.source}: ").removeprefix("reconcile: ")
    where = "its first page" if last.place is None else last.place[:PLACE_AT_MOST]
    ended = f"did not come to its end: {why or 'its process ended without a word'}"
    return f"the run of {_time(last.begun_at)} {ended}; it goes on at {where}"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%SZ}"


def _hours(seconds: float) -> str:
    return f"{seconds / 3_600:g} hours" if seconds >= 3_600 else f"{seconds / 60:g} minutes"

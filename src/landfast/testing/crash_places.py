"""Places where a worker can be made to die in a test, in the words of who writes handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from landfast.domain.errors import UserError
from landfast.ports.inbox import Workbench
from landfast.ports.ledger import EffectStore, ReceiptStore
from landfast.testing.crash import Crash, When
from landfast.testing.reports import WorkerKilledError


class Place(NamedTuple):
    step: str
    when: When


BEFORE_ANSWER = "before answer"
PLACES = {
    "before handler": Place("reserve", "after"),
    "before commit": Place("commit", "before"),
    "after commit": Place("commit", "after"),
    "before settle": Place("settle", "before"),
    "after settle": Place("settle", "after"),
    "before effect": Place("claim_effect", "after"),
    "after effect": Place("settle_effect", "before"),
}
"""Before the handler runs; after it, when nothing of it is committed; after its COMMIT, of which the inbox knows
nothing; and so on. `before answer` is intake's: the delivery is stored, and its sender hears nothing."""


class PlannedCrash(Crash):
    def __init__(self, place: str, *, nth: int) -> None:
        step, when = PLACES[place]
        super().__init__(step, when=when, how="raise", nth=nth, error=WorkerKilledError(place))
        self.place = place


def crash_at(place: str, *, nth: int) -> PlannedCrash:
    """One that kills as SIGKILL does, as far as both databases can tell, but leaves the test's process alone."""
    if place not in PLACES:
        raise UserError(f"crash_at: there is no place {place!r}; the places are {', '.join([*PLACES, BEFORE_ANSWER])}")
    return PlannedCrash(place, nth=nth)


def watch(crashes: Sequence[Crash], *, bench: Any, ledger: Any, effects: Any) -> tuple[Any, Any, Any]:
    """The three stores of a worker, as they are while these crashes are planned."""
    for crash in crashes:
        bench, ledger = crash.watch(bench, Workbench), crash.watch(ledger, ReceiptStore)
        effects = crash.watch(effects, EffectStore)
    return bench, ledger, effects

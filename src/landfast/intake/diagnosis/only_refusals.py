"""A source of which everything is refused: a wrong secret after a deployment, mostly. Nobody else says it, because each
single refusal may be a stranger's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from landfast import telemetry
from landfast.domain.census import SourceTally
from landfast.domain.refusal_causes import fix_of
from landfast.intake.diagnosis.refusals import Refusals
from landfast.ports.clock import Clock

ONLY_REFUSALS_SECONDS = 300.0
"""From the first refusal on: a redeploy of the sender's may cause a few."""

ONLY_REFUSALS_AT_LEAST = 10
"""Requests. A stranger who tries a few times is no outage."""


@dataclass(slots=True)
class _Since:
    """Since the last request of a source that was taken in, or the last warning."""

    taken_in: int
    rejected: int
    first_refusal_at: float | None = None


class OnlyRefusals:
    def __init__(self, refusals: Refusals, clock: Clock) -> None:
        self._refusals = refusals
        self._clock = clock
        self._since: dict[str, _Since] = {}

    def look(self, totals: Mapping[str, SourceTally]) -> None:
        """Called every second with what was told since boot. A warning for each source and five minutes of it."""
        now = self._clock.monotonic()
        for source, told in totals.items():
            taken_in = told.stored + told.duplicate
            since = self._since.get(source)
            if since is None or taken_in > since.taken_in:
                self._begin(source, told)
            elif told.rejected > since.rejected and source:
                if since.first_refusal_at is None:
                    since.first_refusal_at = now
                count, seconds = told.rejected - since.rejected, now - since.first_refusal_at
                if count >= ONLY_REFUSALS_AT_LEAST and seconds >= ONLY_REFUSALS_SECONDS:
                    cause = self._refusals.commonest(source)
                    facts = {"source": source, "count": count, "seconds": round(seconds), "cause": cause}
                    telemetry.warn("only_refusals", **facts, fix=fix_of(cause))
                    self._begin(source, told)

    def _begin(self, source: str, told: SourceTally) -> None:
        self._refusals.forget_causes(source)
        self._since[source] = _Since(told.stored + told.duplicate, told.rejected)

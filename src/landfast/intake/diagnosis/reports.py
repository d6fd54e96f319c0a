"""Reports: what the log says of requests that were refused, and of the secrets that the good ones were made with.

A stranger writes to this log, at 29 bytes a line, so it is thinned out: of the refusals of one source with one status a
line is written each second, with how many there were since the last. The tally counts every one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from landfast import telemetry
from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.intake.answers import FAILED
from landfast.intake.diagnosis.case import Case, Diagnosis
from landfast.intake.diagnosis.forensics import diagnose
from landfast.intake.diagnosis.guesser import Guesser
from landfast.intake.source import Source
from landfast.ports.clock import Clock
from landfast.ports.provider import NO_KEYS, Provider, Secret

DIAGNOSES_PER_SECOND = 5
"""Full diagnoses of all sources together, and one of each source. Whoever floods us with forgeries cannot buy more."""

REFUSAL_LINE_SECONDS = 1.0
"""Between two lines about refusals of one kind. Thousands come while somebody attacks, or while there is too much to
do, and a line for each would be more of it."""

SECRET_LINE_SECONDS = 3600.0
"""Seconds between two lines about one secret: whoever retires the old one of two sees soon that nobody uses it."""


class Reports:
    def __init__(
        self,
        sources: Iterable[Source],
        *,
        clock: Clock,
        known: Callable[[], Iterable[Provider]] = tuple,
        keys: Mapping[str, bytes] = NO_KEYS,
    ) -> None:
        self._sources = tuple(sources)
        self._clock = clock
        self._known = known
        self._keys = keys
        self.guesser = Guesser()
        self._second = -1
        self._names: set[str] = set()
        self._due: dict[int, float] = {}
        self._thinned: dict[tuple[str, int], tuple[float, int]] = {}
        """By source and status: when a line was written last, and how many were not since."""

    def used(self, source: Source, secret: Secret, at: float) -> None:
        """Log that a secret is in use, once an hour. By identity: to hash a secret would cost more than this may."""
        if at >= self._due.get(id(secret), 0.0):
            self._due[id(secret)] = at + SECRET_LINE_SECONDS
            telemetry.info("secret_in_use", source=source.name, secret=secret.name)

    def rejected(self, source: str, status: int, error: Exception) -> None:
        more = self._turn(source, status)
        if more is None:
            return
        if status == FAILED.status:
            telemetry.error("request_failed", trace=error, source=source, **more)
        else:
            telemetry.info("rejected", source=source, status=status, reason=error, **more)

    def unverified(self, source: Source, head: Head, body: bytes | None, error: UnverifiedError) -> None:
        """Log a refusal with its cause if there is time to find it. The guesser's thread looks for it, and no request
        waits for that: not this one, because how long it takes would tell the sender what was found."""
        if not self._has_time(source.name) or not self.guesser.has_room:
            self.rejected(source.name, error.answer.status, error)
            return
        more = self._turn(source.name, error.answer.status, is_due=True) or {}
        others = [other for other in self._sources if other.name != source.name]
        # A copy of the keys: they change on the loop while the thread reads them.
        case = Case(source, head, body, self._clock.now().timestamp(), others, keys=dict(self._keys))
        self.guesser.begin(partial(self._explain, case, error, more))

    def _turn(self, source: str, status: int, *, is_due: bool = False) -> dict[str, int] | None:
        """How many have passed in silence since the last line of this kind; None if this one must, too."""
        now = self._clock.monotonic()
        last, others = self._thinned.get((source, status), (-math.inf, 0))
        if now - last < REFUSAL_LINE_SECONDS and not is_due:
            self._thinned[source, status] = last, others + 1
            return None
        self._thinned[source, status] = now, 0
        return {"others": others} if others else {}

    def _explain(self, case: Case, error: UnverifiedError, more: Mapping[str, int]) -> None:
        """In the guesser's thread."""
        try:
            case.known = self._known()
            found = diagnose(case)
        except Exception as failure:  # noqa: BLE001 - an explanation that fails must not cost more than itself
            telemetry.error("diagnosis_failed", trace=failure, source=case.source.name)
            found = Diagnosis("unverified", str(error))
        # What a secret of ours made is a mistake in somebody's settings, and no noise from strangers.
        tell = telemetry.warn if found.is_ours else telemetry.info
        facts = {"source": case.source.name, "status": error.answer.status, "cause": found.cause}
        tell("rejected", **facts, reason=found.sentence, **more)

    def _has_time(self, source: str) -> bool:
        second = int(self._clock.monotonic())
        if second != self._second:
            self._second = second
            self._names.clear()
        if source in self._names or len(self._names) >= DIAGNOSES_PER_SECOND:
            return False
        self._names.add(source)
        return True

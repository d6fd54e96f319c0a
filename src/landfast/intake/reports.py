"""Reports: what the log says of signatures. Why one was refused, and which secret the good ones were made with."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping

from landfast import telemetry
from landfast.domain.delivery import Head
from landfast.domain.errors import UnverifiedError
from landfast.intake.forensics import Case, Diagnosis, diagnose
from landfast.intake.source import Source
from landfast.ports.provider import NO_KEYS, Provider, Secret

EACH_SECOND = 5
"""Full diagnoses of all sources together, and one of each source. Whoever floods us with forgeries cannot buy more."""

SECOND = 1.0
"""Between two lines about those who are turned away. Thousands are while there is too much to do, and a line for each
would be more of it."""

HOUR = 3600.0
"""Seconds between two lines about one secret: whoever retires the old one of two sees soon that nobody uses it."""


class Reports:
    def __init__(
        self,
        sources: Iterable[Source],
        *,
        known: Callable[[], Iterable[Provider]] = tuple,
        keys: Mapping[str, bytes] = NO_KEYS,
    ) -> None:
        self._sources = tuple(sources)
        self._known = known
        self._keys = keys
        self._second = 0
        self._names: set[str] = set()
        self._due: dict[int, float] = {}
        self._turned_away: dict[tuple[str, int], tuple[float, int]] = {}

    def used(self, source: Source, secret: Secret, at: float) -> None:
        """Log that a secret is in use, once an hour. By identity: to hash a secret would cost more than this may."""
        if at >= self._due.get(id(secret), 0.0):
            self._due[id(secret)] = at + HOUR
            telemetry.info("secret in use", source=source.name, secret=secret.name)

    def turned_away(self, source: str, status: int, error: Exception, *, at: float) -> None:
        """Log one of them, with how many there were since the last one that was logged."""
        last, others = self._turned_away.get((source, status), (-math.inf, 0))
        if at - last < SECOND:
            self._turned_away[source, status] = (last, others + 1)
            return
        self._turned_away[source, status] = (at, 0)
        more = {"others": others} if others else {}
        telemetry.info("rejected", source=source, status=status, reason=error, **more)

    def refused(self, source: Source, head: Head, body: bytes | None, error: UnverifiedError, *, at: float) -> None:
        """Log a refusal, with its cause where there is time to find it. That is looked for once the answer is on its
        way: how long it takes depends on what is found, and the sender must not learn even that."""
        if not self._has_time(source.name, at):
            telemetry.info("rejected", source=source.name, status=error.answer.status, reason=error)
            return
        try:
            soon = asyncio.get_running_loop().call_soon
        except RuntimeError:  # without a loop there is no sender that waits
            self._explain(source, head, body, error, at)
        else:
            soon(self._explain, source, head, body, error, at)

    def _explain(self, source: Source, head: Head, body: bytes | None, error: UnverifiedError, at: float) -> None:
        others = [other for other in self._sources if other.name != source.name]
        try:
            found = diagnose(Case(source, head, body, at, others, self._known(), self._keys))
        except Exception as failure:  # noqa: BLE001 - an explanation that fails must not cost more than itself
            telemetry.error("no diagnosis", trace=failure, source=source.name)
            found = Diagnosis("unverified", str(error))
        # What a secret of ours made is a mistake in somebody's settings, and no noise from strangers.
        tell = telemetry.warn if found.is_ours else telemetry.info
        tell("rejected", source=source.name, status=error.answer.status, cause=found.cause, reason=found.sentence)

    def _has_time(self, source: str, at: float) -> bool:
        if int(at) != self._second:
            self._second = int(at)
            self._names.clear()
        if source in self._names or len(self._names) >= EACH_SECOND:
            return False
        self._names.add(source)
        return True

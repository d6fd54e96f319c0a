"""Reports: what the log says of requests that were refused, and of the secrets that the good ones were made with.

A stranger writes to this log, at 29 bytes a line, so it is thinned out: of the refusals of one source with one status a
line is written each second, with how many there were since the last. The tally counts every one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from landfast import telemetry
from landfast.domain.delivery import Head
from landfast.domain.errors import UnknownSourceError, UnverifiedError
from landfast.domain.refusal_causes import cause_of
from landfast.intake.answers import FAILED
from landfast.intake.diagnosis.case import MOST_BYTES, Case, Diagnosis
from landfast.intake.diagnosis.forensics import diagnose
from landfast.intake.diagnosis.guesser import Guesser
from landfast.intake.diagnosis.refusals import Refusals
from landfast.intake.source import Source
from landfast.ports.clock import Clock
from landfast.ports.provider import NO_KEYS, Provider, Secret

DIAGNOSES_PER_SECOND = 5
"""Full diagnoses of all sources together, and one of each source. Whoever floods us with forgeries cannot buy more."""

REFUSAL_LINE_SECONDS = 1.0
"""Between two lines about refusals of one kind. Thousands come while somebody attacks, or while there is too much to
do, and a line for each would be more of it."""

PATH_CHARACTERS = 200
"""Of the path in a line: a stranger chose it."""

SECRET_LINE_SECONDS = 3600.0
"""Seconds between two lines about one secret: whoever retires the old one of two sees soon that nobody uses it."""

SOURCES_TOLD = 100
"""Whose secrets a heartbeat tells of: some 50 bytes for each secret, every three seconds."""


@dataclass(slots=True)
class Use:
    """Of one secret, since this process began. Times are Unix seconds."""

    first: float
    last: float = 0.0
    count: int = 0
    due: float = 0.0
    """When the log may say it again."""


class Reports:
    def __init__(
        self,
        sources: Iterable[Source],
        *,
        clock: Clock,
        known: Callable[[], Iterable[Provider]] = tuple,
        keys: Mapping[str, bytes] = NO_KEYS,
        refusals: Refusals | None = None,
    ) -> None:
        self.refusals = Refusals(clock) if refusals is None else refusals
        """A sample of them, to look at later."""
        self._sources = tuple(sources)
        self._clock = clock
        self._known = known
        self._keys = keys
        self.guesser = Guesser()
        self._second = -1
        self._names: set[str] = set()
        self._uses: dict[int, Use] = {}
        self._thinned: dict[tuple[str, int], tuple[float, int]] = {}
        """By source and status: when a line was written last, and how many were not since."""

    def used(self, source: Source, secret: Secret, at: float) -> None:
        """Count it, and log its use once an hour. By identity: to hash a secret would cost more than this may."""
        use = self._uses.get(id(secret))
        if use is None:
            use = self._uses[id(secret)] = Use(at)
        use.count += 1
        use.last = at
        if at >= use.due:
            use.due = at + SECRET_LINE_SECONDS
            telemetry.info("secret_in_use", source=source.name, secret=secret.name)

    def uses(self) -> dict[str, list[tuple[str, int, float | None, float | None]]]:
        """Of each source its secrets: name, how many requests it proved since this process began, the first and the
        last of them. Those with several secrets come first, because one of them is about to go."""
        chosen = sorted(self._sources, key=lambda source: len(source.secrets) < 2)[:SOURCES_TOLD]
        return {source.name: [self._use(secret) for secret in source.secrets] for source in chosen}

    def _use(self, secret: Secret) -> tuple[str, int, float | None, float | None]:
        use = self._uses.get(id(secret))
        return (secret.name, use.count, use.first, use.last) if use else (secret.name, 0, None, None)

    def rejected(self, source: str, status: int, error: Exception, *, head: Head | None = None) -> None:
        """Where the request named no source, its path is told: a typing mistake in somebody's dashboard can be found by
        it."""
        self.refusals.note(source, cause_of(error), status, head)
        more = self._turn(source, status)
        if more is None:
            return
        if status == FAILED.status:
            telemetry.error("request_failed", trace=error, source=source, **more)
        else:
            is_lost = isinstance(error, UnknownSourceError)
            asked = {"path": head.path[:PATH_CHARACTERS]} if head is not None and is_lost else {}
            reason = str(error) or cause_of(error)
            telemetry.info("rejected", source=source, status=status, reason=reason, **asked, **more)

    def unverified(self, source: Source, head: Head, body: bytes | None, error: UnverifiedError) -> None:
        """Log a refusal with its cause if there is time to find it. The guesser's thread looks for it, and no request
        waits for that: not this one, because how long it takes would tell the sender what was found."""
        is_too_large = body is not None and len(body) > MOST_BYTES  # a case could not read it, and five would be kept
        if is_too_large or not self._has_time(source.name) or not self.guesser.has_room:
            self.rejected(source.name, error.answer.status, error, head=head)
            return
        more = self._turn(source.name, error.answer.status, is_due=True) or {}
        others = [other for other in self._sources if other.name != source.name]
        # A copy of the keys: they change on the loop while the thread reads them.
        at = self._clock.now().timestamp()
        case = Case(source, head, body, at, others, keys=dict(self._keys), rest=self.guesser.rest)
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
        self.refusals.note(case.source.name, found.cause, error.answer.status, case.head)
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

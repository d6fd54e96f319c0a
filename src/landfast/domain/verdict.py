"""What a handler or effect raises on purpose. A verdict is a decision, not an accident."""

from __future__ import annotations

from datetime import datetime

from landfast.domain.errors import VerdictError


class Verdict(Exception):  # noqa: N818 - verdicts are verbs, errors end in Error
    """The root of GiveUp, RetryLater and WaitFor."""


class GiveUp(Verdict):
    """Raise it for an event that can never succeed here, with the reason: it is a dead letter at once, and the
    handler's writes are rolled back."""


class RetryLater(Verdict):
    """Raise it to be tried again `after` so many seconds, or not before `until`, a datetime with its time zone; a year
    at most. The handler's writes are rolled back. It counts as an attempt, and its wait costs the backoff's total no
    more than the backoff's own wait would."""

    def __init__(self, reason: str = "", *, after: float | None = None, until: datetime | None = None) -> None:
        super().__init__(reason)
        if (after is None) == (until is None):
            raise VerdictError("RetryLater takes either after=, in seconds, or until=, a datetime")
        if until is not None:
            _must_be_moment(until)
        if after is not None and not after >= 0:
            raise VerdictError("RetryLater(after=...) takes seconds, zero or more")
        self.after = float(after or 0.0)
        self.until = until


class WaitFor(Verdict):
    """Raise it when a dependency that `uses=` names is away: whatever uses it waits until a probe succeeds, for `after`
    seconds at least if it is given. No attempt is counted, and the handler's writes are rolled back."""

    def __init__(self, dependency: str, reason: str = "", *, after: float = 0.0) -> None:
        super().__init__(reason or f"{dependency} is away")
        if not after >= 0:
            raise VerdictError("WaitFor(after=...) takes seconds, zero or more")
        self.dependency = dependency
        self.after = float(after)


def _must_be_moment(until: object) -> None:
    """What a user's code gives need not be what the annotation says."""
    if not isinstance(until, datetime):
        raise VerdictError(f"RetryLater(until={until!r}): it takes a datetime with its time zone")
    if until.utcoffset() is None:
        raise VerdictError(f"RetryLater(until={until}): it has no time zone; write datetime(..., tzinfo=UTC)")

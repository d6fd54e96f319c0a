"""What a handler or effect raises on purpose. A verdict is a decision, not an accident."""

from __future__ import annotations


class Verdict(Exception):  # noqa: N818 - verdicts are verbs, errors end in Error
    """The root of GiveUp and RetryLater."""


class GiveUp(Verdict):
    """Raise it for an event that can never succeed here, with the reason: it is a dead letter at once, and the
    handler's writes are rolled back."""


class RetryLater(Verdict):
    """Raise it to be tried again `after` so many seconds, a year at most; the handler's writes are rolled back. It
    counts as an attempt, and its wait costs the backoff's total no more than the backoff's own wait would."""

    def __init__(self, reason: str = "", *, after: float) -> None:
        super().__init__(reason)
        if not after >= 0:
            raise ValueError("RetryLater(after=...) takes seconds, zero or more")
        self.after = float(after)

"""What a sender is told when something goes wrong: one place, whichever server the request came through."""

from __future__ import annotations

from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.errors import OverloadedError, SenderError, TooManyError
from landfast.ports.clock import Chance

FAILED = answer.error(500, "internal error")
"""Fixed text: whatever went wrong in here is the operator's to read, in the log."""

WAITS = range(1, 31)
"""Seconds of Retry-After, one of them by chance: whoever is turned away together must not come again together. From
one, since most overloads are over by then, to thirty, since not all are."""


def answer_to(error: BaseException) -> Answer:
    if isinstance(error, SenderError | OverloadedError):
        return error.answer
    return FAILED


def later(given: Answer, chance: Chance) -> Answer:
    """A 503 or 429 with one of the waits. All of them are made beforehand: a refusal in an overload costs no memory."""
    return _LATER[given.status][int(chance.fraction() * len(WAITS))]


def _at_all_waits(given: Answer) -> tuple[Answer, ...]:
    return tuple(
        Answer(given.status, given.body, given.content_type, ((b"retry-after", b"%d" % seconds),)) for seconds in WAITS
    )


_LATER = {each.answer.status: _at_all_waits(each.answer) for each in (OverloadedError, TooManyError)}

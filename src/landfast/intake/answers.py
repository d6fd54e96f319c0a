"""What a sender is told when something goes wrong: one place, whichever server the request came through."""

from __future__ import annotations

from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.errors import OverloadedError, SenderError

FAILED = answer.error(500, "internal error")
"""Fixed text: whatever went wrong in here is the operator's to read, in the log."""


def answer_to(error: BaseException) -> Answer:
    if isinstance(error, SenderError | OverloadedError):
        return error.answer
    return FAILED

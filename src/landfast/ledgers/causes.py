"""An error and what it was raised from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its cause, that one's cause. None comes twice: `raise error from error` makes an error its own cause.
    The attribute is read past the error's class, which may have put one of its own in its place."""
    attribute: Any = BaseException.__cause__
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = attribute.__get__(cause)

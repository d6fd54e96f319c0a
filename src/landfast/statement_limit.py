"""How long whoever asks waits for one statement of the inbox: set around a question of an operator's, and heeded by
drivers that can. Without a limit a driver goes by its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SECONDS: ContextVar[float | None] = ContextVar("landfast_statement_seconds", default=None)


def statement_seconds() -> float | None:
    return _SECONDS.get()


@contextmanager
def statements_within(seconds: float) -> Iterator[None]:
    """For statements that begin inside of the block, in this task and in those that it starts."""
    before = _SECONDS.set(seconds)
    try:
        yield
    finally:
        _SECONDS.reset(before)

"""A user's error as text: the one place that reads it, and that never raises, whatever the error's class does.

`__str__`, `__repr__`, `__notes__`, `__cause__` and even the class's name are the user's code. An ORM object in a
message or a lazy translation fails there, long after the handler ended.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

NAME_AT_MOST = 200
"""Characters of a class name: the column is for filters."""

MESSAGE_AT_MOST = 2_000
"""Characters of a message: what a person reads in a list. Some libraries put a whole response in there."""

TRACE_AT_MOST = 16_000
"""Characters of a stack trace: the innermost frames of any reasonable one."""

UNPRINTABLE = "(this error cannot be printed)"


def name_of(error: BaseException) -> str:
    """The name of its class, for filters."""
    return _bounded(_tried(lambda: type(error).__name__, "Exception"), NAME_AT_MOST)


def text_of(error: BaseException) -> str:
    """Its message."""
    return _bounded(_tried(lambda: str(error), UNPRINTABLE), MESSAGE_AT_MOST)


def line_of(error: BaseException) -> str:
    """Its class and message, for one line."""
    return f"{name_of(error)}: {text_of(error)}"


def trace_of(error: BaseException) -> str:
    """Its stack trace with causes and notes; what can be printed of it, where something cannot."""
    text = _tried(lambda: "".join(traceback.format_exception(error)), "") or _frames_of(error) + line_of(error)
    text = _storable(text)
    return text if len(text) <= TRACE_AT_MOST else "... " + text[-TRACE_AT_MOST:]


def _frames_of(error: BaseException) -> str:
    def frames() -> str:
        # Past whatever the class put in place of the attribute.
        attribute: Any = BaseException.__traceback__
        return "".join(traceback.format_tb(attribute.__get__(error)))

    return _tried(frames, "")


def _tried(read: Callable[[], Any], otherwise: str) -> str:
    try:
        text = read()
        # A subclass of str may have methods of its own, so only str's are called on it.
        return str.__str__(text)
    except BaseException:  # noqa: BLE001 - SystemExit out of a __str__ must not end the worker
        return otherwise


def _bounded(text: str, at_most: int) -> str:
    return _storable(str.__getitem__(text, slice(at_most)))


def _storable(text: str) -> str:
    """Without what PostgreSQL cannot store: half characters, and the zero."""
    return str.encode(text, "utf-8", "backslashreplace").decode().replace("\0", "\\x00")

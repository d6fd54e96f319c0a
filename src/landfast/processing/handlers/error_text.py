"""A user's error as text: the one place that reads it, and that never raises, whatever the error's class does.

`__str__`, `__repr__`, `__notes__`, `__cause__` and even the class's name are the user's code. An ORM object in a
message or a lazy translation fails there, long after the handler ended.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

NAME_CHARACTERS = 200
"""Characters of a class name: the column is for filters."""

MESSAGE_CHARACTERS = 2_000
"""Characters of a message: what a person reads in a list. Some libraries put a whole response in there."""

TRACE_CHARACTERS = 16_000
"""Characters of a stack trace: the innermost frames of any reasonable one."""

PLACE_CHARACTERS = 200
"""Characters of a file's name, a line's number and a function's name."""

UNPRINTABLE_TEXT = "(this error cannot be printed)"


def name_of(error: BaseException) -> str:
    """The name of its class, for filters."""
    return _bounded(_tried(lambda: type(error).__name__, "Exception"), NAME_CHARACTERS)


def text_of(error: BaseException) -> str:
    """Its message."""
    return _bounded(_tried(lambda: str(error), UNPRINTABLE_TEXT), MESSAGE_CHARACTERS)


def line_of(error: BaseException) -> str:
    """Its class and message, for one line in the inbox. Never for the log: a message may hold what the sender sent."""
    return f"{name_of(error)}: {text_of(error)}"


def logged(error: BaseException) -> str:
    """Its class and the place where it was raised: all that the log may know of it."""
    place = _tried(lambda: _place_of(error), "")
    return f"{name_of(error)} at {_bounded(place, PLACE_CHARACTERS)}" if place else name_of(error)


def _place_of(error: BaseException) -> str:
    attribute: Any = BaseException.__traceback__  # past whatever the class put in place of it
    at: TracebackType | None = attribute.__get__(error)
    if at is None:
        return ""
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    file = code.co_filename.rpartition("/")[2]
    return f"{file}:{at.tb_lineno} in {code.co_name}"


def trace_of(error: BaseException) -> str:
    """Its stack trace with causes and notes; what can be printed of it, where something cannot."""
    text = _tried(lambda: "".join(traceback.format_exception(error)), "") or _frames_of(error) + line_of(error)
    text = _storable(text)
    return text if len(text) <= TRACE_CHARACTERS else "... " + text[-TRACE_CHARACTERS:]


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

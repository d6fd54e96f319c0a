"""A user's error as text: the one place that reads it, and that never raises, whatever the error's class does.

`__str__`, `__repr__`, `__notes__`, `__cause__` and even the class's name are the user's code. An ORM object in a
message or a lazy translation fails there, long after the handler ended.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
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

_OURS = f"{Path(__file__).parents[2]}/"
_LIBRARIES = (_OURS, *(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")))
"""Where code lies that is not the user's own."""

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
    """Its class and the innermost place in the user's own code that it came through: all that the log may know."""
    place = _tried(lambda: " in ".join(_place_of(error)), "")
    return f"{name_of(error)} at {_bounded(place, PLACE_CHARACTERS)}" if place else name_of(error)


def source_line(error: BaseException) -> str:
    """`shop.py:14`: that place, without the function. What fails alike has it in common."""
    return _bounded(_tried(lambda: _place_of(error)[0], ""), PLACE_CHARACTERS)


def _place_of(error: BaseException) -> tuple[str, ...]:
    """File with line, and function; nothing where there is no trace."""
    attribute: Any = BaseException.__traceback__  # past whatever the class put in place of it
    at: TracebackType | None = attribute.__get__(error)
    if at is None:
        return ()
    innermost = chosen = at
    while at is not None:
        innermost = at
        if _is_users(at):
            chosen = at
        at = at.tb_next
    # A database's driver says little about where it was called from. Where nothing else is there, it says something.
    at = chosen if _is_users(chosen) else innermost
    code = at.tb_frame.f_code
    file = code.co_filename.rpartition("/")[2]
    return f"{file}:{at.tb_lineno}", code.co_name


def _is_users(at: TracebackType) -> bool:
    """A compiled module names its source as it was where it was built."""
    file = at.tb_frame.f_code.co_filename
    return not file.startswith((*_LIBRARIES, "<frozen ")) and not file.endswith(".pyx")


def trace_of(error: BaseException) -> str:
    """Its stack trace with causes and notes; what can be printed of it, where something cannot."""
    text = _tried(lambda: "".join(traceback.format_exception(error)), "") or _frames_of(error) + line_of(error)
    text = _storable(text)
    return text if len(text) <= TRACE_CHARACTERS else "... " + text[-TRACE_CHARACTERS:]


def shown_trace(error: BaseException) -> str:
    """Its stack trace as a person wants it who writes the handler: without the frames of Landfast's own."""
    return _storable(_tried(lambda: _without_ours(error), "") or trace_of(error))[-TRACE_CHARACTERS:]


def _without_ours(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error)
    waiting: list[traceback.TracebackException | None] = [told]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        theirs = [frame for frame in one.stack if not frame.filename.startswith(_OURS)]
        one.stack = traceback.StackSummary.from_list(theirs or list(one.stack))
        waiting += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return "".join(told.format())


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

"""Which line of the user's code something came from."""

from __future__ import annotations

import asyncio
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from landfast.processing.handlers.stacks import stack_of_task

_LOOP = (asyncio.Handle._run.__code__, asyncio.BaseEventLoop.run_forever.__code__)  # noqa: SLF001 - the loop itself
_OURS = str(Path(__file__).resolve().parent.parent)
_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple({str(Path(_PATHS[name]).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclass(frozen=True, slots=True)
class Place:
    """A line of code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{_short(self.file)}:{self.line} in {self.function}"

    @property
    def source(self) -> str:
        """The line itself, where it can be read."""
        import linecache

        return linecache.getline(self.file, self.line).strip()


def is_users(file: str) -> bool:
    """Neither Landfast's, nor Python's own, nor of an installed package."""
    return _is_users(file)


@lru_cache(4096)
def _is_users(file: str) -> bool:
    if file.startswith("<") or not file:
        return False
    whole = str(Path(file).resolve())
    if whole.startswith(_OURS) or "site-packages" in whole or "dist-packages" in whole:
        return False
    return not whole.startswith(_LIBRARIES)


def is_installed(file: str) -> bool:
    """Of a package that is neither Landfast's nor Python's own."""
    return "site-packages" in file or "dist-packages" in file or file.startswith("<")


def place_of_function(function: Callable[..., Any]) -> Place:
    """Where it is defined: better than nothing."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return Place("?", 0, getattr(function, "__name__", "?"))
    return Place(code.co_filename, code.co_firstlineno, code.co_name)


def place_of_stack(frame: FrameType | None, function: Callable[..., Any] | None = None) -> Place | None:
    """The innermost line of the user's code from this frame outwards, also beyond a greenlet that SQLAlchemy made."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    for each in _outwards(frame):
        if is_users(each.f_code.co_filename) or each.f_code is code:
            return Place(each.f_code.co_filename, each.f_lineno, each.f_code.co_name)
    return None


def place_of_task(task: asyncio.Task[Any]) -> Place | None:
    """Where a task waits."""
    for each in reversed(stack_of_task(task)):
        if is_users(each.filename):
            return Place(each.filename, each.lineno or 0, each.name)
    return None


def place_of_error(error: BaseException) -> Place | None:
    """The innermost line of the user's code that an error went through."""
    attribute: Any = BaseException.__traceback__
    trace: TracebackType | None = attribute.__get__(error)
    for frame, line in reversed(list(traceback.walk_tb(trace))):
        if is_users(frame.f_code.co_filename):
            return Place(frame.f_code.co_filename, line, frame.f_code.co_name)
    return None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    greenlet = sys.modules.get("greenlet")
    current = greenlet.getcurrent() if greenlet is not None else None
    while True:
        while frame is not None:
            if frame.f_code in _LOOP:
                return  # whoever runs the loop has not called this
            yield frame
            frame = frame.f_back
        current = getattr(current, "parent", None)
        frame = getattr(current, "gr_frame", None)
        if frame is None:
            return


def _short(file: str) -> str:
    """From the current folder, where it is below it."""
    try:
        return str(Path(file).resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file

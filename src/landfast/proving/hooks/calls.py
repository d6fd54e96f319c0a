"""Functions that a handler calls: effects that it should have staged, clocks that it reads, chance that it draws."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from landfast.proving.report import Kind
from landfast.proving.user_code import is_installed, is_users, place_of_stack
from landfast.proving.watching import RUN, RefusedError, Run

_CLOCKS = frozenset({"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime", "clock_gettime"})
_CHANCES = frozenset({"urandom", "random", "getrandbits", "getrandom", "randbytes", "generate_time_safe"})
_PASSES_ON = ("uuid.py", "random.py", "secrets.py")
"""Modules of Python's own that read a clock or draw on behalf of who calls them."""

_EFFECTS: dict[CodeType, str] = {}


@contextmanager
def knowing_effects(functions: Iterable[tuple[str, Callable[..., Any]]]) -> Iterator[None]:
    """While it lasts, a handler that calls one of these is found out, and the call does not happen."""
    named = {code: name for name, function in functions if (code := _code(function)) is not None}
    _EFFECTS.update(named)
    try:
        yield
    finally:
        for code in named:
            _EFFECTS.pop(code, None)


def _code(function: Callable[..., Any]) -> CodeType | None:
    found = getattr(inspect.unwrap(function), "__code__", None)
    return found if isinstance(found, CodeType) else None


class watching_calls:  # noqa: N801 - read as a verb: with watching_calls(run)
    """In this thread, until the handler returns. It is Python's profiler: one that was there has a rest meanwhile."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        self._thread = threading.get_ident()
        sys.setprofile(_look)

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() == self._thread:
            sys.setprofile(self._before)


def _look(frame: FrameType, event: str, arg: Any) -> None:
    if event == "call":
        if frame.f_code in _EFFECTS:
            _effect_called(frame)
    elif event == "c_call":
        name = getattr(arg, "__name__", "")
        if name in _CLOCKS or name in _CHANCES:
            _hint(frame, name)


def _effect_called(frame: FrameType) -> None:
    run = RUN.get()
    if run is None:
        return
    run.refused = True
    name = _EFFECTS[frame.f_code]
    run.report(
        Kind.DIRECT_EFFECT,
        f"it calls the effect {name} itself, before its writes are committed",
        place_of_stack(frame.f_back, run.function),
    )
    raise RefusedError(f"landfast prove: the effect {name} is staged with tx.stage, not called")


def _hint(frame: FrameType, name: str) -> None:
    run = RUN.get()
    if run is None or not _is_asked_for_by_the_user(frame):
        return
    place = place_of_stack(frame, run.function)
    kind = Kind.CLOCK if name in _CLOCKS else Kind.CHANCE
    if place is not None and (kind, place) not in run.hints:
        run.hints.append((kind, place))


def _is_asked_for_by_the_user(frame: FrameType | None) -> bool:
    """Not where a library asks, nor where it calls a function of the user's for it: a column's default that an ORM
    fills in is as good as the database's own."""
    while frame is not None and frame.f_code.co_filename.endswith(_PASSES_ON):
        frame = frame.f_back
    if frame is None or not is_users(frame.f_code.co_filename):
        return False
    while frame is not None and is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is None or not is_installed(frame.f_code.co_filename)

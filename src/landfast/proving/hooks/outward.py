"""What a handler does to the world outside: it is noticed by Python's audit events, and does not happen.

An audit hook cannot be taken away again. This one does nothing but one look while no handler is proven."""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from landfast.proving.hooks.redirect import file_of, redirect
from landfast.proving.report import Kind
from landfast.proving.user_code import Place
from landfast.proving.watching import RefusedError, Run, current

_IS_HOOKED = False
_IS_ON = False


def watch_outward(*, is_on: bool) -> None:
    """From now on, or no longer."""
    global _IS_HOOKED, _IS_ON  # noqa: PLW0603 - Python has one audit hook for the whole process, too
    _IS_ON = is_on
    if is_on and not _IS_HOOKED:
        _IS_HOOKED = True
        sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if not _IS_ON or event not in _EVENTS:
        return
    run = current(anywhere=True)
    if event == "sqlite3.connect":
        _guard_file(run, args)
        return
    if run is None or run.connecting or run.is_dead:
        return
    what = _EVENTS[event](args)
    if not what:
        return
    place = run.place()
    if event == "open" and _is_an_import(place):
        return
    run.refused = True
    run.report(Kind.OUTSIDE_WRITE if event == "open" else Kind.DIRECT_EFFECT, f"it {what}", place)
    raise RefusedError(f"landfast prove: a handler that is proven does not reach outside: it {what}")


def _guard_file(run: Run | None, args: tuple[Any, ...]) -> None:
    """The user's file is opened past our connect, which was imported by its name before the proof began."""
    to = redirect()
    if to is None and run is not None and args[0] != ":memory:":  # a rehearsal: there is no copy that it may open
        run.refused = True
        run.report(Kind.OUTSIDE_WRITE, "it opens a SQLite file on a connection of its own")
        raise RefusedError("landfast: a handler that is rehearsed opens no file of its own")
    if to is None or to.where_file(file_of(args[0], is_uri=True)) != "real":
        return
    if run is not None:
        run.refused = True
        run.report(Kind.OUTSIDE_WRITE, "it opens the ledger's file on a connection of its own")
    raise RefusedError("landfast prove: the ledger's own file is not opened while a copy of it is in use")


def _connects(args: tuple[Any, ...]) -> str:
    connection, address = args[:2]
    if getattr(connection, "type", None) == socket.SOCK_DGRAM:
        return ""  # a log line or a metric
    shown = ":".join(str(part) for part in address[:2]) if isinstance(address, tuple) else _text(address)
    return f"connects to {shown}"


def _looks_up(args: tuple[Any, ...]) -> str:
    host = args[0] if args else None
    return f"connects to {_text(host)}" if host else ""


def _starts(args: tuple[Any, ...]) -> str:
    return f"starts the program {_text(args[0]) if args else '?'}"


def _opens(args: tuple[Any, ...]) -> str:
    path, mode, flags = (*args, None, None)[:3]
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool((flags or 0) & 3)
    if not writes or not isinstance(path, str | bytes):
        return ""
    file = Path(_text(path))
    if _is_scratch(file):
        return ""
    return f"writes the file {file}"


def _is_scratch(file: Path) -> bool:
    """What nobody keeps: temporary files and devices, and the bytecode of what is imported late."""
    whole = file if file.is_absolute() else Path.cwd() / file
    is_temporary = whole.is_relative_to(tempfile.gettempdir()) or whole.is_relative_to("/dev")
    return is_temporary or "__pycache__" in whole.parts


def _is_an_import(place: Place) -> bool:
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - its documented name
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        if (frame.f_code.co_filename, frame.f_lineno) == (place.file, place.line):
            return False
        frame = frame.f_back
    return False


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_EVENTS: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "socket.connect": _connects,
    "socket.getaddrinfo": _looks_up,
    "socket.gethostbyname": _looks_up,
    "subprocess.Popen": _starts,
    "os.system": _starts,
    "os.posix_spawn": _starts,
    "os.exec": _starts,
    "open": _opens,
    "sqlite3.connect": lambda _: "",
}
"""What counts, and the words for it; nothing where it does not count."""


def passing(run: Run | None) -> _Passing:
    """While a connection to the copy is made for the handler."""
    return _Passing(run)


class _Passing:
    def __init__(self, run: Run | None) -> None:
        self._run = run

    def __enter__(self) -> None:
        if self._run is not None:
            self._run.connecting += 1

    def __exit__(self, *_: object) -> None:
        if self._run is not None:
            self._run.connecting -= 1

"""A handler's writes on a session of its own: no receipt covers them, so a retry makes them twice. They are noticed on
the user's engine while a handler runs. A request's commit runs in another context, and is never blamed."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import sqlalchemy
from sqlalchemy import event

from landfast import telemetry
from landfast.domain.errors import UserError
from landfast.ledgers import control
from landfast.ledgers.sqlalchemy import fences
from landfast.ledgers.sqlalchemy.fences import Fence

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

RUNNING: ContextVar[Fence | None] = ContextVar("landfast_running", default=None)
"""Of the handler that runs here: tasks and threads that it starts have it too."""

PLACES_AT_MOST = 1000
"""Lines of code that are remembered as told: a handler in a loop must not fill the log."""

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE"})
_NOT_THE_USERS = ("<", str(Path(sqlalchemy.__file__).parent), str(Path(__file__).parents[2]))
"""Files of these packages, and what SQLAlchemy makes up at run time."""


class Noticing:
    def __init__(self, engine: Engine, *, has_one_writer: bool) -> None:
        self._hooks: dict[str, Any] = {"commit": self._on_commit}
        if has_one_writer:
            self._hooks["before_cursor_execute"] = self._before_statement
        self._engine = engine
        self._told: set[str] = set()

    def start(self) -> None:
        for name, hook in self._hooks.items():
            event.listen(self._engine, name, hook)

    def stop(self) -> None:
        for name, hook in self._hooks.items():
            if event.contains(self._engine, name, hook):
                event.remove(self._engine, name, hook)

    def _on_commit(self, connection: Connection) -> None:
        if not _is_foreign(connection):
            return
        place = _place()
        if place not in self._told and len(self._told) < PLACES_AT_MOST:
            self._told.add(place)
            telemetry.warn("handler_committed_elsewhere", where=place)

    def _before_statement(
        self, connection: Connection, _cursor: Any, statement: str, _values: Any, _context: Any, _many: object
    ) -> None:
        if control.verb(statement) in _WRITES and _is_foreign(connection):
            raise UserError(
                "this handler writes on a connection of its own, and SQLite has one writer, which is the handler's"
                " transaction: it would wait for itself; use the session that the handler is given"
            )


def _is_foreign(connection: Connection) -> bool:
    """A handler runs here, and the connection is not its own."""
    fence = RUNNING.get()
    return fence is not None and not fence.has_ended and fences.of(connection) is None


def _place() -> str:
    """The line of the user's code, such as `shop.py:12 create_order`."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - its documented name
    for start in (frame, _waiting_frame()):
        frame = start
        while frame is not None:
            if not frame.f_code.co_filename.startswith(_NOT_THE_USERS):
                return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"
            frame = frame.f_back
    return "unknown"


def _waiting_frame() -> FrameType | None:
    """Of the coroutine that waits for SQLAlchemy's greenlet."""
    try:
        from greenlet import getcurrent
    except ImportError:
        return None
    parent = getcurrent().parent
    return None if parent is None else parent.gr_frame

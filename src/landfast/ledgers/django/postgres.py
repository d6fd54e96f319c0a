"""Django's connection to PostgreSQL: what psycopg and psycopg2 know of a transaction, and how it is ended for them."""

from __future__ import annotations

import contextlib
import os
import socket
from functools import cache
from typing import Any

from landfast.domain.errors import HandlerEndedTransactionError, LedgerUnavailableError
from landfast.ledgers import control
from landfast.ledgers.django.connection import DjangoConnection
from landfast.ledgers.django.fence import Fence
from landfast.ledgers.postgres import libpq, rows
from landfast.ledgers.postgres.dbapi import DbapiStatements
from landfast.ledgers.postgres.said_settings import names_set
from landfast.thread_calls import finish

_IDLE, _ACTIVE, _UNKNOWN = 0, 1, 4
"""libpq's states of a transaction; the others are inside of one."""
_SHIELDED = ("commit", "rollback", "set_autocommit", "set_isolation_level")


class PostgresConnection(DjangoConnection):
    def __init__(self, alias: str, *, is_inline: bool = False) -> None:
        super().__init__(alias, is_inline=is_inline)
        self._cable: socket.socket | None = None
        self._cable_of: object = None
        self._factory: Any = None
        self.settings: dict[str, str] = {}
        """What they were before a handler changed one."""
        self.at_first: dict[str, str] = {}
        """The same of those that a handler has named, of the whole transaction."""
        self.was_left_open = False
        """By a COMMIT that failed: it was not the COMMIT, but what was said before it."""

    def examine(self) -> None:
        if self.raw is None or self.wrapper.connection is not self.raw:
            raise control.ended_by_handler()
        state = _state(self.raw)
        if state == _UNKNOWN:
            raise LedgerUnavailableError("ledger: the connection of an open transaction was closed")
        if state == _IDLE:
            raise control.ended_by_handler()
        if state == _ACTIVE:
            raise control.left_running()

    def note_setting(self, query: str) -> None:
        """The next handler in this transaction is not to see what this one sets. What has a dot in its name is listed
        nowhere, so it is read where it is set."""
        said = names_set(query)
        dotted = {name for name in said if "." in name} - self.settings.keys()
        if dotted or not self.settings:
            found = finish(DbapiStatements(self.raw).fetch(rows.SQL["settings_look"], sorted(dotted)))
            self.settings = {row["name"]: row["value"] for row in found} | self.settings
        self.at_first = {name: self.settings[name] for name in said if name in self.settings} | self.at_first

    @property
    def goes_by_the_server(self) -> bool:
        """psycopg takes a transaction for its own if the server has told of one, whoever said BEGIN, and finds nothing
        left to commit where somebody else has said COMMIT. So both can go out with what belongs to them."""
        return not self._is_inline and self.wrapper.Database.__name__ == "psycopg"

    def say(self, text: str) -> str:
        """Statements without values, in one round trip; the command tag of the last."""
        return libpq.say(self.raw, text)

    def commit_saying(self, text: str) -> str:
        """Django commits, and where it tells psycopg to, this is sent, which has COMMIT at its end; its command tag."""
        self.lower()
        raw, tags, self.was_left_open = self.raw, [""], False

        def commit() -> None:
            try:
                tags.append(self.say(text))
            finally:
                self.was_left_open = _state(raw) not in (_IDLE, _UNKNOWN)

        raw.__dict__["commit"] = commit
        try:
            self.commit()
        finally:
            raw.__dict__.pop("commit", None)
        return tags[-1]

    def check_handler(self) -> None:
        super().check_handler()
        # Our statements go past both, and so would our COMMIT.
        if getattr(self.raw, "_num_transactions", 0) or getattr(self.raw, "_pipeline", None) is not None:
            raise HandlerEndedTransactionError(
                "the handler returned inside of a transaction() or pipeline() of psycopg's connection; use `with`"
            )

    def begin(self) -> None:
        self.settings, self.at_first = {}, {}
        super().begin()
        if self._cable_of is not self.raw and not self._is_inline:
            self._lay_cable()

    def drop(self) -> None:
        super().drop()
        self._cut_cable()

    def hang_up(self) -> None:
        super().hang_up()
        if self._cable is not None:
            with contextlib.suppress(OSError):  # it is closed already
                self._cable.shutdown(socket.SHUT_RDWR)

    def _lay_cable(self) -> None:
        """A descriptor of our own for the same socket: the driver's may be closed and its number in use for another
        one by the time that we hang up."""
        self._cut_cable()
        self._cable = socket.socket(fileno=os.dup(self.raw.fileno()))
        self._cable_of = self.raw

    def _cut_cable(self) -> None:
        cable, self._cable, self._cable_of = self._cable, None, None
        if cable is not None:
            cable.close()

    def _prepare(self, wrapper: Any) -> None:
        if not self._is_inline and wrapper.connection.closed:
            self.drop()
            wrapper.ensure_connection()

    def _shield(self) -> None:
        if self.raw is None:
            return
        if hasattr(self.raw, "__dict__"):  # psycopg's; that of psycopg2 takes no attributes
            self.raw.__dict__.update(dict.fromkeys(_SHIELDED, _refused))
        self._factory = self.raw.cursor_factory
        # A cursor of Django's own class, which looks at what it is given, and whether the transaction is still there.
        self.raw.cursor_factory = _fenced_cursor(self._factory)
        _FENCES[id(self.raw)] = self.fence

    def _unshield(self) -> None:
        if self.raw is None:
            return
        if hasattr(self.raw, "__dict__"):
            for name in _SHIELDED:
                self.raw.__dict__.pop(name, None)
        self.raw.cursor_factory = self._factory
        _FENCES.pop(id(self.raw), None)


_FENCES: dict[int, Fence] = {}
"""By the driver's connection, while a handler has it."""


@cache
def _fenced_cursor(kind: type) -> type:
    class FencedCursor(kind):
        """One more look at each statement, also at those that go past Django."""

        def execute(self, query: Any, *args: Any, **options: Any) -> Any:
            self._look(query)
            return super().execute(query, *args, **options)

        def executemany(self, query: Any, *args: Any, **options: Any) -> Any:
            self._look(query)
            return super().executemany(query, *args, **options)

        def _look(self, query: Any) -> None:
            fence = _FENCES.get(id(self.connection))
            if fence is not None and fence.is_up:
                fence.pass_through(query if isinstance(query, str) else _text(query))

    return FencedCursor


def _text(query: Any) -> str:
    return query.decode("utf-8", "replace") if isinstance(query, bytes) else str(query)


def _refused(*_: object, **__: object) -> None:
    control.refuse("COMMIT")


def _state(raw: Any) -> int:
    connection = getattr(raw, "pgconn", None)
    return int(connection.transaction_status if connection is not None else raw.info.transaction_status)

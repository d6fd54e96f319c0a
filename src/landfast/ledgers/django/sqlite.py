"""Django's connection to SQLite: how a transaction begins and ends, and the connection as our statements use it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from landfast.ledgers import control, limits
from landfast.ledgers.causes import causes
from landfast.ledgers.django.connection import DjangoConnection

_SETTINGS = (
    "PRAGMA synchronous = FULL",  # a COMMIT that a power cut can undo would let a handler run twice
    "PRAGMA secure_delete = ON",  # what an effect or a result no longer says becomes zeros: it may be erased later
)


class SqliteConnection(DjangoConnection):
    def __init__(self, alias: str, *, is_inline: bool = False) -> None:
        super().__init__(alias, is_inline=is_inline)
        self._prepared: object = None

    def examine(self) -> None:
        if self.raw is None or self.wrapper.connection is not self.raw or not self.raw.in_transaction:
            raise control.ended_by_handler()

    def hang_up(self) -> None:
        super().hang_up()
        if (raw := self.raw) is not None:
            with contextlib.suppress(sqlite3.Error):  # it is closed already
                raw.interrupt()

    def _prepare(self, wrapper: Any) -> None:
        if self._is_inline or self._prepared is wrapper.connection:
            return
        self._prepared = raw = wrapper.connection
        for setting in _SETTINGS:
            raw.execute(setting).close()
        # Once for each connection: to change it makes SQLite compile every statement anew. A ROLLBACK is refused, too,
        # because outside of our transaction SQLite would commit each statement by itself.
        raw.set_authorizer(self._authorize)

    def _authorize(self, action: int, *_: object) -> int:
        is_refused = action == sqlite3.SQLITE_TRANSACTION and self.fence.is_up
        return sqlite3.SQLITE_DENY if is_refused else sqlite3.SQLITE_OK

    @contextlib.contextmanager
    def _beginning(self, wrapper: Any) -> Iterator[None]:
        """With the lock of a writer, for which we wait a second and not as long as Django does."""
        if self._around:
            yield  # a test's own transaction is around ours, and has the lock or will get it
            return
        raw = wrapper.connection
        (patience,) = raw.execute("PRAGMA busy_timeout").fetchone()
        raw.execute(f"PRAGMA busy_timeout = {round(limits.RECEIPT_WAIT * 1000)}").close()
        try:
            with _immediately(wrapper):
                yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                raw.execute(f"PRAGMA busy_timeout = {patience}").close()


@contextlib.contextmanager
def _immediately(wrapper: Any) -> Iterator[None]:
    """Django says BEGIN IMMEDIATE."""
    if hasattr(wrapper, "transaction_mode"):
        mode, wrapper.transaction_mode = wrapper.transaction_mode, "IMMEDIATE"
        try:
            yield
        finally:
            wrapper.transaction_mode = mode
        return
    # Django before 5.1 has no setting for it.
    wrapper._start_transaction_under_autocommit = lambda: wrapper.cursor().execute("BEGIN IMMEDIATE")  # noqa: SLF001
    try:
        yield
    finally:
        del wrapper._start_transaction_under_autocommit  # noqa: SLF001


class RowConnection:
    """Django's connection as `ledgers.sqlite` uses one: rows by name, BEGIN, COMMIT and ROLLBACK by way of Django, and
    errors of sqlite3."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._of = connection

    @property
    def raw(self) -> sqlite3.Connection:
        if self._of.raw is None:
            raise sqlite3.OperationalError("the connection of an open transaction was closed")
        raw: sqlite3.Connection = self._of.raw
        return raw

    @property
    def in_transaction(self) -> bool:
        return self._of.is_open and self._of.raw is not None and self.raw.in_transaction

    def execute(self, query: str, values: Any = ()) -> Any:
        if query.startswith("BEGIN"):
            self._ending(self._of.begin)
        elif query == "COMMIT":
            self._ending(self._of.commit)
        elif query == "ROLLBACK":
            self._ending(self._of.roll_back)
        else:
            return self._cursor().execute(query, values)
        return None

    def executemany(self, query: str, values: Any) -> sqlite3.Cursor:
        return self._cursor().executemany(query, values)

    def set_progress_handler(self, handler: Any, steps: int) -> None:
        self.raw.set_progress_handler(handler, steps)

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self.raw.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor

    def _ending(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:
            for cause in causes(error):
                if isinstance(cause, sqlite3.Error):
                    raise cause from None
            raise


def inode_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino

"""sqlite3's connections and statements, those of SQLAlchemy, Django and aiosqlite among them."""

from __future__ import annotations

import sqlite3
import sqlite3.dbapi2
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any

from landfast.proving.hooks.outward import passing
from landfast.proving.hooks.patching import patched
from landfast.proving.hooks.redirect import OWN, Where, admit, file_of, note_own, redirect
from landfast.proving.watched import FAULT
from landfast.proving.watching import ON_HANDLE, KilledError, Run, Sent, current


@contextmanager
def watching_sqlite() -> Iterator[None]:
    original = sqlite3.connect
    with (
        patched(sqlite3, "connect", lambda _: _redirected(original)),
        patched(sqlite3.dbapi2, "connect", lambda _: _redirected(original)),
    ):
        yield


def _redirected(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def connect(database: Any, *args: Any, **more: Any) -> Any:
        to, path = redirect(), file_of(database, is_uri=bool(more.get("uri")))
        where: Where = "elsewhere" if to is None else to.where_file(path)
        if to is not None and where == "real":
            text = str(database)
            database = f"file:{to.copy}?{text.partition('?')[2]}" if text.startswith("file:") else to.copy
            where = "copy"
        if len(args) < 5:  # where no class is given by its place
            more["factory"] = _watched_class(more.get("factory", sqlite3.Connection))
        with passing(current(anywhere=True)):
            connection = original(database, *args, **more)
        if isinstance(connection, sqlite3.Connection) and hasattr(connection, "landfast_where"):
            connection.landfast_where = where
        return connection

    return connect


@lru_cache(64)
def _watched_class(factory: Any) -> Any:
    if not isinstance(factory, type):
        return factory

    class Watched(factory):  # type: ignore[misc]
        landfast_where: Where = "elsewhere"

        def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
            return super().cursor(_watched_cursor(factory))

        def execute(self, *args: Any) -> Any:
            return self.cursor().execute(*args)

        def executemany(self, *args: Any) -> Any:
            return self.cursor().executemany(*args)

        def executescript(self, *args: Any) -> Any:
            return self.cursor().executescript(*args)

        def commit(self) -> None:
            _note_end(self, "COMMIT")
            super().commit()

        def rollback(self) -> None:
            _note_end(self, "ROLLBACK")
            super().rollback()

    Watched.__name__ = factory.__name__
    Watched.__qualname__ = factory.__qualname__
    return Watched


@lru_cache(64)
def _watched_cursor(factory: Any) -> Any:
    if not isinstance(factory, type) or not issubclass(factory, sqlite3.Cursor):
        return factory

    class Watched(factory):  # type: ignore[misc]
        def execute(self, query: str, *args: Any) -> Any:
            return _send(self, query, args, lambda: super(Watched, self).execute(query, *args))

        def executemany(self, query: str, *args: Any) -> Any:
            if not args or not isinstance(args[0], list | tuple):
                args = ([*args[0]],) if args else ()
            return _send(self, query, args, lambda: super(Watched, self).executemany(query, *args))

        def fetchone(self) -> Any:
            return _noted(super().fetchone())

        def fetchmany(self, *args: Any) -> Any:
            return _noted(super().fetchmany(*args))

        def fetchall(self) -> Any:
            return _noted(super().fetchall())

        def executescript(self, script: str) -> Any:
            return _send(self, script, (), lambda: super(Watched, self).executescript(script))

    return Watched


def _noted(rows: Any) -> Any:
    run = current(anywhere=True)
    return rows if run is None else run.note_rows(rows)


def _note_end(connection: Any, word: str) -> None:
    run = current(anywhere=True)
    if run is not None and id(connection) in OWN:
        run.before(word, ())


def _send(cursor: Any, query: str, args: tuple[Any, ...], send: Callable[[], Any]) -> Any:
    run, connection = current(anywhere=True), cursor.connection
    if run is None:
        note_own(connection, query)
        return send()
    if ON_HANDLE.get():
        return send()
    where: Where = getattr(connection, "landfast_where", "elsewhere")
    is_own = id(connection) in OWN
    sent = admit(run, query, args, is_own=is_own, where=where)
    if sent is None:
        return send()
    if not is_own and OWN:
        # It would wait for our own transaction until its patience ends, and then say the same.
        run.refused = True
        raise sqlite3.OperationalError("database is locked")
    try:
        return _through(run, sent, send)
    except KilledError:
        cursor.close()  # as in a process that is gone: a statement that is half read would keep the file locked
        raise


def _through(run: Run, sent: Sent, send: Callable[[], Any]) -> Any:
    try:
        answer = send() if not run.must_fail(sent) else _fail()
    except BaseException as error:
        run.after(sent, error)
        raise
    run.after(sent)
    return answer


def _fail() -> Any:
    raise sqlite3.OperationalError(FAULT)

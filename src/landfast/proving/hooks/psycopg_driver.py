"""psycopg's connections and statements, those of SQLAlchemy and Django among them; psycopg2's as far as it lets us."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from landfast.ledgers.postgres import libpq
from landfast.proving.hooks.outward import passing
from landfast.proving.hooks.patching import patched
from landfast.proving.hooks.redirect import OWN, POSTGRES_PORT, Where, admit, note_own, redirect
from landfast.proving.watched import DEADLOCK
from landfast.proving.watching import ON_HANDLE, Run, Sent, current


@contextmanager
def watching_psycopg() -> Iterator[None]:
    with ExitStack() as stack:
        if find_spec("psycopg") is not None:
            _watch_psycopg(stack)
        if find_spec("psycopg2") is not None:
            module = import_module("psycopg2")
            stack.enter_context(patched(module, "_connect", _redirected_two))
        yield


def _watch_psycopg(stack: ExitStack) -> None:
    psycopg = import_module("psycopg")
    base = import_module("psycopg._connection_base").BaseConnection
    stack.enter_context(patched(base, "_connect_gen", lambda original: classmethod(_redirected(original))))
    for name in ("execute", "executemany"):
        stack.enter_context(patched(psycopg.Cursor, name, _blocking))
        stack.enter_context(patched(psycopg.AsyncCursor, name, _awaited))
    for name in ("fetchone", "fetchmany", "fetchall"):
        stack.enter_context(patched(psycopg.Cursor, name, _fetched))
        stack.enter_context(patched(psycopg.AsyncCursor, name, _fetched_later))
    for name in ("say", "say_and_wait"):  # the first text of a transaction goes past every cursor
        stack.enter_context(patched(libpq, name, _said))


def _said(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def say(connection: Any, text: str) -> Any:
        note_own(connection.pgconn, text)
        return original(connection, text)

    return say


def _redirected(original: Any) -> Callable[..., Any]:
    function = original.__func__

    @wraps(function)
    def connect(cls: Any, conninfo: str = "", **more: Any) -> Any:
        with passing(current(anywhere=True)):
            return (yield from function(cls, _renamed(conninfo, "psycopg.conninfo"), **more))

    return connect


def _redirected_two(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def connect(dsn: str, *args: Any, **more: Any) -> Any:
        connection = original(_renamed(dsn, "psycopg2.extensions"), *args, **more)
        if getattr(connection, "cursor_factory", None) is None:
            connection.cursor_factory = _cursor_two()
        return connection

    return connect


def _renamed(conninfo: str, module: str) -> str:
    """The same address, but of the copy."""
    to = redirect()
    if to is None:
        return conninfo
    library: Any = import_module(module)
    if hasattr(library, "conninfo_to_dict"):
        given, make = library.conninfo_to_dict(conninfo), library.make_conninfo
    else:
        given, make = library.parse_dsn(conninfo), library.make_dsn
    port = int(given.get("port") or POSTGRES_PORT)
    if to.where_server(str(given.get("dbname") or given.get("user") or ""), port) == "elsewhere":
        return conninfo
    made: str = make(conninfo, dbname=to.copy)
    return made


def _cursor_two() -> Any:
    """psycopg2's own cursor is written in C; one that inherits from it can be watched."""
    extensions: Any = import_module("psycopg2.extensions")

    class Watched(extensions.cursor):  # type: ignore[misc]
        def execute(self, query: Any, *args: Any) -> Any:
            below = super().execute
            return _send(self, query, args, lambda: below(query, *args), lambda: below(DEADLOCK))

        def executemany(self, query: Any, *args: Any) -> Any:
            below, fail = super().executemany, super().execute
            return _send(self, query, args, lambda: below(query, *args), lambda: fail(DEADLOCK))

        def fetchone(self) -> Any:
            return _noted(super().fetchone())

        def fetchmany(self, *args: Any) -> Any:
            return _noted(super().fetchmany(*args))

        def fetchall(self) -> Any:
            return _noted(super().fetchall())

    return Watched


def _noted(rows: Any) -> Any:
    run = current()
    return rows if run is None else run.note_rows(rows)


def _blocking(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def send(self: Any, query: Any, *args: Any, **more: Any) -> Any:
        fail = lambda: self.connection.execute(DEADLOCK)  # noqa: E731 - read in its place
        return _send(self, query, args, lambda: original(self, query, *args, **more), fail)

    return send


def _fetched(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def fetch(self: Any, *args: Any) -> Any:
        return _noted(original(self, *args))

    return fetch


def _fetched_later(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def fetch(self: Any, *args: Any) -> Any:
        return _noted(await original(self, *args))

    return fetch


def _awaited(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def send(self: Any, query: Any, *args: Any, **more: Any) -> Any:
        begun = _begin(self, query, args)
        if begun is None:
            return await original(self, query, *args, **more)
        run, sent, is_own = begun
        await run.wait(sent)
        try:
            if is_own and run.must_fail(sent):
                await _unwatched(self)
            answer = await original(self, query, *args, **more)
        except BaseException as error:
            run.after(sent, error)
            raise
        run.after(sent)
        return answer

    return send


async def _unwatched(cursor: Any) -> None:
    token = ON_HANDLE.set(True)
    try:
        await cursor.connection.execute(DEADLOCK)
    finally:
        ON_HANDLE.reset(token)


def _send(cursor: Any, query: Any, args: tuple[Any, ...], send: Callable[[], Any], fail: Callable[[], Any]) -> Any:
    begun = _begin(cursor, query, args)
    if begun is None:
        return send()
    run, sent, is_own = begun
    run.wait_blocking(sent)
    try:
        if is_own and run.must_fail(sent):
            token = ON_HANDLE.set(True)
            try:
                fail()
            finally:
                ON_HANDLE.reset(token)
        answer = send()
    except BaseException as error:
        run.after(sent, error)
        raise
    run.after(sent)
    return answer


def _begin(cursor: Any, query: Any, args: tuple[Any, ...]) -> tuple[Run, Sent, bool] | None:
    connection, run = cursor.connection, current()
    # A connection that is lent out is another object around the same line to the server.
    line = getattr(connection, "pgconn", connection)
    text = query if isinstance(query, str) else query.decode() if isinstance(query, bytes) else _composed(query, cursor)
    if run is None:
        note_own(line, text)
        return None
    if ON_HANDLE.get():
        return None
    is_own = id(line) in OWN
    sent = admit(run, text, args[:1], is_own=is_own, where=_where(connection))
    return None if sent is None else (run, sent, is_own)


def _composed(query: Any, cursor: Any) -> str:
    as_string = getattr(query, "as_string", None)
    return str(as_string(cursor)) if as_string is not None else str(query)


def _where(connection: Any) -> Where:
    to, info = redirect(), connection.info
    return "elsewhere" if to is None else to.where_server(info.dbname, int(info.port or POSTGRES_PORT))

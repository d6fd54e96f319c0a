"""asyncpg's connections and statements, those of SQLAlchemy among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import asyncpg
from asyncpg import connect_utils, prepared_stmt

from landfast.proving.hooks.outward import passing
from landfast.proving.hooks.patching import patched
from landfast.proving.hooks.redirect import OWN, Where, admit, note_own, port_of, redirect
from landfast.proving.watched import DEADLOCK
from landfast.proving.watching import ON_HANDLE, RUN, Run, current

_Connection: Any = asyncpg.Connection
_Prepared: Any = prepared_stmt.PreparedStatement
_BIND = "_PreparedStatement__bind_execute"


@contextmanager
def watching_asyncpg() -> Iterator[None]:
    names = ("execute", "_execute", "_executemany", "_copy_in")
    with (
        patched(connect_utils, "_connect_addr", _redirected),
        patched(_Connection, names[0], _statement),
        patched(_Connection, names[1], _statement),
        patched(_Connection, names[2], _statement),
        patched(_Connection, names[3], _statement),
        patched(_Prepared, _BIND, _prepared),
    ):
        yield


def _redirected(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def connect(*, addr: Any, params: Any, **more: Any) -> Any:
        to, run = redirect(), current(anywhere=True)
        if to is None or to.where_server(params.database, port_of(addr)) == "elsewhere":
            return await original(addr=addr, params=params, **more)
        with passing(run):
            return await original(addr=addr, params=params._replace(database=to.copy), **more)

    return connect


def _statement(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def send(self: Any, query: Any, *args: Any, **more: Any) -> Any:
        text = query if isinstance(query, str) else str(query)
        values = args if original.__name__ == "execute" else tuple(args[:1])
        return await _watched(self, text, values, lambda: original(self, query, *args, **more))

    return send


def _prepared(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def send(self: Any, args: Any, *more: Any) -> Any:
        return await _watched(self._connection, self._query, tuple(args), lambda: original(self, args, *more))

    return send


async def _watched(connection: Any, query: str, args: tuple[Any, ...], send: Callable[[], Any]) -> Any:
    run = RUN.get()
    if run is None:
        note_own(connection._protocol, query)  # noqa: SLF001 - a proxy, a lent one and the connection itself share it
        return await send()
    if ON_HANDLE.get():
        return await send()
    is_own = id(connection._protocol) in OWN  # noqa: SLF001 - same
    sent = admit(run, query, args, is_own=is_own, where=_where(connection))
    if sent is None:
        return await send()
    await run.wait(sent)
    token = ON_HANDLE.set(True)
    try:
        if is_own and run.must_fail(sent):
            await _fail(run, connection)
        answer = await send()
    except BaseException as error:
        run.after(sent, error)
        raise
    finally:
        ON_HANDLE.reset(token)
    run.note_answer(sent, answer)
    run.after(sent)
    return answer


async def _fail(_run: Run, connection: Any) -> None:
    await connection._protocol.query(DEADLOCK, None)  # noqa: SLF001 - on whatever stands in front of it


def _where(connection: Any) -> Where:
    to = redirect()
    if to is None:
        return "elsewhere"
    return to.where_server(connection._params.database, port_of(connection._addr))  # noqa: SLF001 - it tells nobody else

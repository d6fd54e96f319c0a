"""psycopg's own connection, lent to a handler for as long as its event lasts, without its ways to commit.

What is lent is an object of a class made from the connection's own, and its state is the connection's: the same
`__dict__`. So it is what the handler's annotation says, and works with whatever takes a connection; the pool's own
object stays as the user made it. At the end it gets an empty state, which cuts off everything at once that came from
it: cursors, transactions, pipelines, and tasks that nobody awaited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any, NoReturn

import psycopg
from psycopg import pq

from landfast.domain.errors import HandlerEndedTransactionError
from landfast.domain.savepoints import OwnSavepoints
from landfast.ledgers import control
from landfast.ledgers.postgres.handle import may_set
from landfast.ledgers.postgres.said_settings import names_set

IDLE = pq.TransactionStatus.IDLE

FACTORIES = ("row_factory", "cursor_factory", "server_cursor_factory")
"""What a handler may choose for itself, and the next one must not find."""


class Watch:
    """What one handler has done on what it was lent."""

    def __init__(self, said: dict[str, str | None]) -> None:
        """`said` has the settings that handlers of this transaction have named, with what they were before if that is
        not known otherwise."""
        self.said = said
        self.used = False
        self._savepoints = OwnSavepoints()
        self.may_have_set = False
        self.refused: HandlerEndedTransactionError | None = None
        """What it wanted undone and we did not undo: the attempt fails, even if the handler caught our error."""

    def saw(self, query: str) -> None:
        control.refuse(query)
        self._savepoints.saw(query)
        self.used = True
        self.may_have_set = self.may_have_set or may_set(query)

    def unknown(self, query: str) -> list[str]:
        """Settings that the query is going to change and of which nobody knows what they are: those with a dot in their
        names are listed nowhere."""
        names = [name for name in names_set(query) if name not in self.said]
        self.said.update(dict.fromkeys(names))
        return [name for name in names if "." in name]

    @contextmanager
    def leaving(self) -> Iterator[None]:
        try:
            yield
        except GeneratorExit:
            self.refused = left_open()
            raise


def lend(connection: Any, watch: Watch) -> Any:
    lent: Any = object.__new__(_lent_class(_kind(connection)))
    lent.landfast_watch = watch
    lent.landfast_factories = {name: connection.__dict__[name] for name in FACTORIES}
    lent.__dict__ = connection.__dict__
    return lent


def end(lent: Any) -> None:
    """Twice is as good as once."""
    state, lent.__dict__ = lent.__dict__, {}
    if state:
        state.update(lent.landfast_factories)


def of_our_own(connection: Any) -> Any:
    """The same connection for Landfast's own statements: it begins by itself, and psycopg must not."""
    ours: Any = object.__new__(_own_class(_kind(connection)))
    ours.__dict__ = connection.__dict__
    return ours


def cursor_of(lent: Any, kind: type, **how: Any) -> Any:
    """A cursor of that class whose statements are looked at."""
    return _watched(kind)(lent, **how)


class _Lent:
    """In front of the user's class."""

    __slots__ = ("landfast_factories", "landfast_watch")

    def __getattr__(self, name: str) -> Any:
        if not self.__dict__:
            raise control.ended()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __del__(self) -> None:
        """Nothing: psycopg would warn of a connection that nobody closed."""

    def __enter__(self) -> NoReturn:
        raise _refused("with conn", "it commits at its end; use conn without it, or conn.transaction() for a savepoint")

    __aenter__ = __enter__

    def commit(self) -> NoReturn:
        raise _refused("conn.commit()", "Landfast commits its writes together with the receipt")

    def rollback(self) -> NoReturn:
        self._refuse_for_good("conn.rollback()", "raise an error to undo everything, or use conn.transaction()")

    def close(self) -> NoReturn:
        self._refuse_for_good("conn.close()", "Landfast gives the connection back to your pool")

    def set_autocommit(self, _value: Any) -> NoReturn:
        raise _refused("conn.set_autocommit()", "its transaction is Landfast's")

    def set_isolation_level(self, _value: Any) -> NoReturn:
        raise _refused("conn.set_isolation_level()", "give isolation= where the handler is registered")

    set_read_only = set_deferrable = tpc_begin = tpc_prepare = tpc_commit = tpc_rollback = set_autocommit

    cursor_factory = property(
        lambda self: _watched(self._state()["cursor_factory"]),
        lambda self, kind: self._state().update(cursor_factory=kind),
    )
    server_cursor_factory = property(
        lambda self: _watched(self._state()["server_cursor_factory"]),
        lambda self, kind: self._state().update(server_cursor_factory=kind),
    )

    def _start_query(self) -> Iterator[Any]:
        """psycopg would begin a transaction of its own here, which nobody commits, or let the server commit each
        statement by itself."""
        if self.pgconn.transaction_status == IDLE:
            raise control.ended_by_handler()
        return iter(())

    def _get_tx_start_command(self) -> NoReturn:
        raise control.ended_by_handler()

    def _state(self) -> dict[str, Any]:
        if not self.__dict__:
            raise control.ended()
        return self.__dict__

    def _refuse_for_good(self, what: str, instead: str) -> NoReturn:
        error = _refused(what, instead)
        self.landfast_watch.refused = error
        raise error


class _BlockingLent(_Lent):
    """A block that is left open is closed by the interpreter, when nobody holds it any more: as if it had failed, and
    without a word. So it is noted."""

    __slots__ = ()

    @contextmanager
    def transaction(self, *how: Any, **more: Any) -> Iterator[Any]:
        with super().transaction(*how, **more) as block, self.landfast_watch.leaving():  # type: ignore[misc]
            yield block

    @contextmanager
    def pipeline(self) -> Iterator[Any]:
        with super().pipeline() as block, self.landfast_watch.leaving():  # type: ignore[misc]
            yield block


class _AsyncLent(_Lent):
    __slots__ = ()

    @asynccontextmanager
    async def transaction(self, *how: Any, **more: Any) -> AsyncIterator[Any]:
        async with super().transaction(*how, **more) as block:  # type: ignore[misc]
            with self.landfast_watch.leaving():
                yield block

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[Any]:
        async with super().pipeline() as block:  # type: ignore[misc]
            with self.landfast_watch.leaving():
                yield block


class _Own:
    __slots__ = ()

    def __del__(self) -> None:
        """Nothing, as above."""

    def _start_query(self) -> Iterator[Any]:
        return iter(())


class _Watched:
    """In front of a cursor's class. psycopg comes here before it sends whatever it is: a statement, many, a COPY."""

    __slots__ = ()
    _conn: Any

    def _start_query(self, query: Any = None) -> Iterator[Any]:
        watch = self._conn.landfast_watch
        if query is None:
            watch.used = True
        else:
            watch.saw(text := _text(query, self._conn))
            for name in watch.unknown(text):
                # A name of letters, digits and dots: `names_set` finds no other. In a pipeline there is no answer yet.
                look = f"SELECT current_setting('{name}', true)"
                answer = yield from self._conn._exec_command(look)  # noqa: SLF001 - as psycopg sends its own BEGIN
                value = None if answer is None else answer.get_value(0, 0)
                watch.said[name] = "" if value is None else value.decode()
        yield from super()._start_query(query)  # type: ignore[misc]


def _kind(connection: Any) -> Any:
    return type(connection)


@cache
def _lent_class(kind: type) -> type:
    front = _AsyncLent if issubclass(kind, psycopg.AsyncConnection) else _BlockingLent
    return type(f"Lent{kind.__name__}", (front, kind), {"__slots__": (), "__module__": __name__})


@cache
def _own_class(kind: type) -> type:
    return type(f"Own{kind.__name__}", (_Own, kind), {"__slots__": (), "__module__": __name__})


def _watched(kind: Any) -> Any:
    return _watched_class(kind)


@cache
def _watched_class(kind: type) -> type:
    return type(kind.__name__, (_Watched, kind), {"__slots__": (), "__module__": kind.__module__})


def _text(query: Any, connection: Any) -> str:
    """Of a string, bytes, a composed query, or a template string."""
    if isinstance(query, str):
        return query
    if isinstance(query, bytes):
        return query.decode("utf-8", "replace")
    if hasattr(query, "as_string"):
        return str(query.as_string(connection))
    return "".join(getattr(query, "strings", ()))


def _refused(what: str, instead: str) -> HandlerEndedTransactionError:
    return HandlerEndedTransactionError(f"a handler may not use {what}: {instead}")


def left_open() -> HandlerEndedTransactionError:
    return HandlerEndedTransactionError(
        "the handler returned inside of a conn.transaction() or conn.pipeline() that it never left;"
        " use `async with` or `with` around it"
    )

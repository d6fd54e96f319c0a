"""What a handler may be given, told apart by what it is, and how each kind runs a statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from landfast.domain.errors import UserError
from landfast.sql.outcome import Outcome
from landfast.sql.statements import MYSQL, POSTGRESQL, SQLITE, Statement, Work, numbered, positions

_DIALECTS = {
    "postgresql": POSTGRESQL,
    "postgres": POSTGRESQL,
    "sqlite": SQLITE,
    "mysql": MYSQL,
    "mariadb": MYSQL,
}


class Kind(NamedTuple):
    dialect: str
    run: Callable[[Statement], Any]
    """The answer; or something to await for it, if `is_async`."""
    is_async: bool


def carried_out(tx: Any, name: str, begin: Callable[[str], Work]) -> Any:
    """The outcome; or a coroutine for it, where the kind is awaited."""
    kind = _kind_of(tx)
    if not kind.is_async:
        return _finish(begin(kind.dialect), kind.run)
    work = _finish_later(begin(kind.dialect), kind.run)
    # So that a forgotten `await` fails the attempt, as it does for a statement.
    asking = getattr(tx, "_ask", None)
    return asking(name, work) if callable(asking) else work


def _finish(work: Work, run: Callable[[Statement], Any]) -> Outcome:
    answer = None
    while True:
        try:
            statement = work.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer = run(statement)


async def _finish_later(work: Work, run: Callable[[Statement], Any]) -> Outcome:
    answer = None
    while True:
        try:
            statement = work.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer = await run(statement)


def _kind_of(tx: Any) -> Kind:
    homes = {f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in type(tx).__mro__}
    if "landfast.BlockingTransaction" in homes:
        return Kind(_dialect(tx.dialect), lambda one: _with_tags_now(tx, one), is_async=False)
    if isinstance(getattr(tx, "dialect", None), str):  # `tx` of an `async def` handler; SQLAlchemy's is no string
        return Kind(_dialect(tx.dialect), lambda one: _with_tags(tx, one), is_async=True)
    if homes & {"sqlalchemy.AsyncSession", "sqlalchemy.AsyncConnection"}:
        return Kind(_dialect_of_sqlalchemy(tx), lambda one: _sqlalchemy_later(tx, one), is_async=True)
    if homes & {"sqlalchemy.Session", "sqlalchemy.scoped_session", "sqlalchemy.Connection"}:
        return Kind(_dialect_of_sqlalchemy(tx), lambda one: _read(_sqlalchemy(tx, one), one), is_async=False)
    if "psycopg.AsyncConnection" in homes:
        return Kind(POSTGRESQL, lambda one: _psycopg_later(tx, one), is_async=True)
    if "psycopg.Connection" in homes:
        return Kind(POSTGRESQL, lambda one: _psycopg(tx, one), is_async=False)
    if homes & {"asyncpg.Connection", "asyncpg.PoolConnectionProxy", "landfast.LentConnection"}:
        return Kind(POSTGRESQL, lambda one: _with_tags(tx, one), is_async=True)
    if hasattr(tx, "vendor") and callable(getattr(tx, "cursor", None)):  # Django's
        return Kind(_dialect(tx.vendor), lambda one: _with_cursor(tx, one), is_async=False)
    if "sqlite3.Connection" in homes:
        return Kind(SQLITE, lambda one: _sqlite(tx, one), is_async=False)
    raise UserError(
        f"sql: {type(tx).__name__} is no transaction that it knows; give it tx, a SQLAlchemy session or connection,"
        " or a connection of Django, psycopg, asyncpg or sqlite3"
    )


def _dialect(name: str) -> str:
    known = _DIALECTS.get(name)
    if known is None:
        raise UserError(f"sql: {name} is no database that it knows; it knows PostgreSQL, SQLite, MySQL and MariaDB")
    return known


def _dialect_of_sqlalchemy(tx: Any) -> str:
    bound = tx.get_bind() if hasattr(tx, "get_bind") else tx
    return _dialect(bound.dialect.name)


async def _with_tags(tx: Any, one: Statement) -> Any:
    if one.returns_rows:
        return [tuple(row) for row in await tx.fetch(one.text, *one.values)]
    return _count(await tx.execute(one.text, *one.values))


def _with_tags_now(tx: Any, one: Statement) -> Any:
    if one.returns_rows:
        return [tuple(row) for row in tx.fetch(one.text, *one.values)]
    return _count(tx.execute(one.text, *one.values))


def _count(tag: str) -> int:
    """Of `INSERT 0 1` or `UPDATE 1`."""
    last = tag.rpartition(" ")[2]
    return int(last) if last.isdecimal() else 0


def _sqlalchemy(tx: Any, one: Statement) -> Any:
    from sqlalchemy import text

    written, _ = numbered(one.text, ":p{}")
    return tx.execute(text(written), {f"p{number}": value for number, value in enumerate(one.values, 1)})


async def _sqlalchemy_later(tx: Any, one: Statement) -> Any:
    return _read(await _sqlalchemy(tx, one), one)


def _psycopg(tx: Any, one: Statement) -> Any:
    written, order = numbered(one.text, "%s")
    return _read(tx.execute(written, positions(order, one.values)), one)


async def _psycopg_later(tx: Any, one: Statement) -> Any:
    written, order = numbered(one.text, "%s")
    cursor = await tx.execute(written, positions(order, one.values))
    return [tuple(row) for row in await cursor.fetchall()] if one.returns_rows else cursor.rowcount


def _with_cursor(tx: Any, one: Statement) -> Any:
    written, order = numbered(one.text, "%s")
    with tx.cursor() as cursor:
        cursor.execute(written, positions(order, one.values))
        return _read(cursor, one)


def _sqlite(tx: Any, one: Statement) -> Any:
    written, order = numbered(one.text, "?")
    return _read(tx.execute(written, positions(order, one.values)), one)


def _read(answered: Any, one: Statement) -> Any:
    return [tuple(row) for row in answered.fetchall()] if one.returns_rows else answered.rowcount

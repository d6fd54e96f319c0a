"""What the user gave as the ledger: an engine, a sessionmaker or a scoped_session, waiting or blocking."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, async_sessionmaker
from sqlalchemy.orm import scoped_session, sessionmaker

from landfast.domain.errors import ConfigError
from landfast.ledgers.brought import Brought
from landfast.ledgers.sqlalchemy import fences, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import URL, Connection
    from sqlalchemy.orm import Session

DRIVERS = {
    "postgresql": ("asyncpg", "psycopg", "psycopg2"),
    "sqlite": ("pysqlite", "aiosqlite"),
    "mysql": ("aiomysql", "pymysql"),
}
"""By SQLAlchemy's names of databases."""

_ALSO_CALLED = {"mariadb": "mysql"}

_OF_LIBPQ = frozenset(
    {"connect_timeout", "client_encoding", "gssencmode", "channel_binding", "keepalives", "keepalives_idle"}
    | {"keepalives_interval", "keepalives_count", "tcp_user_timeout", "target_session_attrs"}
    | {"prepared_statement_cache_size", "prepared_statement_name_func"}
)
"""What an engine's address may say and asyncpg, which the desk uses, does not know."""

_SEEN_IN: WeakKeyDictionary[Engine, int] = WeakKeyDictionary()
"""The process in which Landfast first saw an engine, which is where the user's module was imported."""
_inherited: list[Any] = []
"""Pools that a fork has copied. They are kept, so that no destructor says goodbye on a connection of the parent's."""


class Target:
    def __init__(self, given: object) -> None:
        """ConfigError for what cannot be a ledger."""
        desk, scoped = None, None
        if isinstance(given, Brought):
            desk, scoped, given = given.desk, given.scoped, given.given
        if isinstance(given, scoped_session):
            scoped = given
        self.scoped: scoped_session[Any] | None = scoped
        self._desk: str | None = desk
        maker = _maker(given, scoped)
        engine = given if isinstance(given, Engine | AsyncEngine) else _engine_of(maker)
        self.is_async = isinstance(engine, AsyncEngine)
        self.engine: Engine = engine.sync_engine if isinstance(engine, AsyncEngine) else engine
        name, self.driver = self.engine.dialect.name, self.engine.dialect.driver
        self.database = _ALSO_CALLED.get(name, name)
        if self.driver not in DRIVERS.get(self.database, ()):
            known = ", ".join(f"{name}+{each}" for name, drivers in DRIVERS.items() for each in drivers)
            raise ConfigError(
                f"ledger: the engine is on {self.database}+{self.driver}, which Landfast cannot join; the known ones"
                f" are {known}"
            )
        self._maker = maker
        _SEEN_IN.setdefault(self.engine, os.getpid())

    def leave_to_parent(self) -> None:
        """Where a server has imported the application and forked then, as gunicorn does with `preload_app`: the idle
        connections of the engine are the parent's, and of all its other children. Two that write on one socket would
        be in each other's transactions."""
        if _SEEN_IN[self.engine] != os.getpid():
            _inherited.append(self.engine.pool)
            self.engine.dispose(close=False)
            _SEEN_IN[self.engine] = os.getpid()

    @cached_property
    def fenced(self) -> Engine:
        """The engine's pool, with fences of ours around each connection."""
        fenced = self.engine.execution_options(landfast_fenced=True)
        fences.build(fenced)
        return fenced

    def session_on(self, connection: Connection | None) -> Any:
        return self._make(self.shown(connection))

    def shown(self, connection: Connection | None) -> Any:
        """As a handler knows it: an AsyncConnection around the connection, or the connection itself."""
        return AsyncConnection(self._outer, connection) if self.is_async else connection

    def inner(self, session: Any) -> Session:
        """What an AsyncSession runs in its greenlets, or the session itself."""
        found: Session = session.sync_session if self.is_async else session
        return found

    @cached_property
    def _outer(self) -> AsyncEngine:
        return AsyncEngine(self.fenced)

    @cached_property
    def _make(self) -> sessions.Makes:
        return sessions.waiting(self._maker) if self.is_async else sessions.blocking(self._maker)

    @property
    def has_own_desk(self) -> bool:
        return self._desk is not None

    def postgres_desk(self) -> str:
        """The address of the same database for Landfast's own few connections."""
        if self._desk is not None:
            return self._desk
        self._must_have_an_address("postgresql://user:password@host/name")
        return _plain(self.engine.url)

    def sqlite_desk(self) -> Path | str:
        if self._desk is not None:
            return self._desk.removeprefix("sqlite:")
        self._must_have_an_address("sqlite:shop.db")
        path = self.engine.url.database or ""
        if not path or ":memory:" in path or "mode=memory" in path:
            raise ConfigError(
                "ledger: the engine's database is in memory, where no receipt outlives the process; use a file"
            )
        if path.startswith("file:"):
            raise ConfigError(
                'ledger: the engine opens its file by a URI; name it: Inbox(ledger=engine, desk="shop.db")'
            )
        return path

    def mysql_desk(self) -> dict[str, Any]:
        """What PyMySQL connects by, which aiomysql brings along."""
        if self._desk is None:
            self._must_have_an_address("mysql://user:password@host/name")
        url = self.engine.url if self._desk is None else make_url(self._desk)
        if not url.database:
            raise ConfigError(
                "ledger: the engine's address names no database; write mysql+pymysql://user:password@host/name"
            )
        plain = url.set(drivername="mysql+pymysql").difference_update_query(("charset",))
        dialect: Any = plain.get_dialect()
        _, options = dialect(dbapi=dialect.import_dbapi()).create_connect_args(plain)
        return dict(options)

    def _must_have_an_address(self, example: str) -> None:
        creator = getattr(self.engine.pool, "_creator", None)
        if not getattr(creator, "__module__", "").startswith("sqlalchemy.engine"):
            raise ConfigError(
                "ledger: the engine makes its connections with creator=, so its address says nothing; Landfast needs"
                f' one for a few connections of its own: Inbox(ledger=engine, desk="{example}")'
            )

    def capacity(self) -> int | None:
        """Connections that the engine's pool gives out at most; None for a pool without a limit."""
        size, overflow = getattr(self.engine.pool, "_pool", None), getattr(self.engine.pool, "_max_overflow", None)
        if size is None or overflow is None or overflow < 0 or not size.maxsize:
            return None
        return int(size.maxsize + overflow)

    def places(self, concurrency: int) -> int:
        """How many handlers may have a connection of the pool at the same time."""
        capacity = self.capacity()
        return concurrency if capacity is None else min(concurrency, capacity)

    def pool_cautions(self, concurrency: int) -> list[str]:
        capacity = self.capacity()
        if capacity is None or capacity > concurrency:
            return []
        caution = (
            f"ledger: the engine's pool gives out {capacity} connections at most, and {concurrency} handlers may"
            " want one at the same time, so requests would wait for them; raise pool_size, or lower concurrency"
        )
        return [caution]


def _maker(given: object, scoped: scoped_session[Any] | None) -> Any:
    if scoped is not None:
        return scoped.session_factory
    return given if isinstance(given, sessionmaker | async_sessionmaker) else None


def _engine_of(maker: Any) -> Engine | AsyncEngine:
    found = maker.kw.get("bind")
    if found is None:
        try:  # a session class of the user's may know, as Flask-SQLAlchemy's does
            found = maker().get_bind()
        except (SQLAlchemyError, RuntimeError) as error:
            raise ConfigError(
                f"ledger: no engine is found in the sessionmaker ({error}); write sessionmaker(engine),"
                " or give Landfast the engine itself"
            ) from None
    if not isinstance(found, Engine | AsyncEngine):
        raise ConfigError(f"ledger: the sessionmaker is bound to a {type(found).__name__}; bind it to an engine")
    return found


def _plain(url: URL) -> str:
    query = {("sslmode" if name == "ssl" else name): value for name, value in url.query.items()}
    kept = {name: value for name, value in query.items() if name not in _OF_LIBPQ}
    return url.set(drivername="postgresql", query=kept).render_as_string(hide_password=False)

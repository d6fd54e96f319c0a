"""Sessions that join a transaction of ours, made as the user's own are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session, sessionmaker

from landfast.domain.errors import UserError

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_sessionmaker

OPTIONS: Mapping[str, Any] = {
    # A commit() of the handler's is a flush, so that code which it shares with requests works; a rollback() is noticed.
    "join_transaction_mode": "rollback_only",
    # Nothing was committed, so nothing is stale; and an AsyncSession could not load it again by itself.
    "expire_on_commit": False,
    "twophase": False,
}

Makes = Callable[[Any], Any]
"""From the connection to a session on it."""


def blocking(maker: sessionmaker[Any] | None) -> Makes:
    class_ = _joined(maker.class_ if maker is not None else Session)
    options = {**(maker.kw if maker is not None else {}), **OPTIONS}

    def make(connection: Connection) -> Session:
        session: Any = class_(**(options | {"bind": connection}))
        session.landfast_connection = connection
        made: Session = session
        return made

    return make


def waiting(maker: async_sessionmaker[Any] | None) -> Makes:
    from sqlalchemy.ext.asyncio import AsyncSession

    given = dict(maker.kw) if maker is not None else {}
    class_ = maker.class_ if maker is not None else AsyncSession
    inner = given.pop("sync_session_class", None) or class_.sync_session_class
    if isinstance(inner, sessionmaker):
        given, inner = {**inner.kw, **given}, inner.class_
    options = {**given, **OPTIONS, "sync_session_class": _joined(inner)}

    def make(connection: AsyncConnection) -> AsyncSession:
        session: AsyncSession = class_(**(options | {"bind": connection}))
        session.sync_session.landfast_connection = connection.sync_connection  # type: ignore[attr-defined]
        return session

    return make


def _joined(base: Any) -> Any:
    """The user's class, whose every way to a database leads to our connection: `binds`, a `get_bind` of their own,
    Flask-SQLAlchemy's. What leads to another database is refused, because nothing there would be covered."""

    def get_bind(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = base.get_bind(self, *args, **kwargs)
        ours = self.landfast_connection
        if found is ours or found.engine.pool is ours.engine.pool:
            return ours
        raise UserError(
            f"this handler's session is on {ours.engine.url.database!r}, and this statement belongs to"
            f" {found.engine.url.database!r}, which the receipt does not cover; stage an effect for it,"
            " or give that database a handler and an inbox of its own"
        )

    return type(base.__name__, (base,), {"get_bind": get_bind, "__module__": base.__module__})

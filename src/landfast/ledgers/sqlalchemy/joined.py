"""A connection of the user's pool with a transaction of ours, which their sessions join."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from landfast.domain.errors import HandlerEndedTransactionError
from landfast.ledgers.sqlalchemy import fences
from landfast.ledgers.sqlalchemy.fences import Fence

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, RootTransaction


class Joined:
    """All of it blocks, and runs in a greenlet or in a lane."""

    def __init__(self, engine: Engine, fence: Fence) -> None:
        """On an engine with fences."""
        self._engine = engine
        self.fence = fence
        self.connection: Connection | None = None
        self._root: RootTransaction | None = None

    def connect(self, **options: Any) -> Any:
        """Begin, and the driver's own connection. Most drivers send BEGIN with the first statement."""
        self.connection = self._engine.connect()
        self.connection.execution_options(**{fences.OPTION: self.fence}, **options)
        self._root = self.connection.begin()
        return self.connection.connection.driver_connection

    def first(self, statement: str) -> None:
        """Through SQLAlchemy, which sends BEGIN before it, and empties its pool if the connection is found dead."""
        if self.connection is not None:
            self.connection.exec_driver_sql(statement)

    def check(self) -> None:
        """HandlerEndedTransactionError or SwallowedDatabaseError where the handler ended it, as SQLAlchemy saw it."""
        self.fence.check()
        connection, root = self.connection, self._root
        if connection is not None and not connection.closed and connection.invalidated:
            raise self.fence.lose(
                HandlerEndedTransactionError(
                    "a statement of the handler's was cut off, by a timeout around it say, and the transaction was lost"
                    " with its connection, so nothing of this attempt was kept; let the error through"
                )
            )
        if connection is None or connection.closed or root is None or not root.is_active:
            raise self.fence.lose(fences.rolled_back())
        if connection.in_nested_transaction():
            raise self.fence.lose(
                HandlerEndedTransactionError(
                    "the handler left a savepoint open, so nobody knows whether its writes were meant to stay; "
                    "write `with session.begin_nested():`, or commit() what it returns"
                )
            )

    @property
    def info(self) -> dict[Any, Any]:
        """What SQLAlchemy keeps with the driver's connection for as long as that lives."""
        return {} if self.connection is None else self.connection.info

    @property
    def is_usable(self) -> bool:
        """It is still ours: one that the handler closed may be somebody else's by now."""
        connection = self.connection
        return connection is not None and not connection.closed and not connection.invalidated

    def commit(self) -> None:
        self.fence.end()
        self.fence.may_commit = True
        if self._root is not None:
            self._root.commit()

    def close(self, *, is_broken: bool) -> None:
        """Roll back what is open, and give the connection back to its pool. Never raises an error of the database."""
        self.fence.end()
        connection = self.connection
        if connection is None or connection.closed:
            return
        with contextlib.suppress(SQLAlchemyError, OSError):
            if not connection.invalidated:
                self._roll_back(connection, is_broken=is_broken)
        with contextlib.suppress(SQLAlchemyError, OSError):
            connection.close()

    def _roll_back(self, connection: Connection, *, is_broken: bool) -> None:
        if is_broken:
            connection.invalidate()
            return
        try:
            if self._root is not None and self._root.is_active:
                self._root.rollback()
            # What SQLAlchemy believes and what the server has may differ: after a COMMIT that a hook refused, it takes
            # the transaction for ended, and the connection would be lost to the pool.
            connection.connection.rollback()
        except Exception:  # noqa: BLE001 - it does not answer: the server rolls back for who hangs up
            connection.invalidate()

"""What keeps a handler from ending its transaction through SQLAlchemy: hooks that refuse before anything is sent.

The guard row alone is not enough: after a rollback SQLAlchemy begins another transaction by itself, in which there is
no guard row. So the hooks refuse a second BEGIN and a COMMIT that is not ours, and remember a ROLLBACK.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from landfast.domain.errors import HandlerEndedTransactionError, LandfastError, SwallowedDatabaseError
from landfast.domain.savepoints import OwnSavepoints
from landfast.ledgers import control

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import ExceptionContext

OPTION = "landfast"
"""The execution option that a fence hangs in. A connection's `info` would not do: it raises once SQLAlchemy has
declared the connection invalid, which is when we ask."""


class Fence:
    """What became of one transaction."""

    def __init__(self) -> None:
        self.is_up = False
        """A handler has the connection: what is sent now is the handler's."""
        self.has_ended = False
        """Handlers have had it: whoever still holds a session sends nothing any more."""
        self.may_commit = False
        self.has_begun = False
        self.used = False
        self.savepoints = OwnSavepoints()
        """Of the event that is handled now."""
        self.is_in_transaction: Callable[[], bool] = lambda: True
        """What the driver says, whatever SQLAlchemy believes."""
        self.before_statement: Callable[[str], None] = lambda _statement: None
        self.before_others: Callable[[], None] = lambda: None
        """Sends what waits in `tx`, before a statement that goes past it."""
        self.on_rollback: Callable[[], None] = lambda: None
        self.on_cancel: Callable[[], None] = lambda: None
        self.session: Callable[[], Any] | None = None
        """Of the event that is handled now, for a scoped_session."""
        self._failed: BaseException | None = None
        """The last error of the database that no savepoint has undone."""
        self._lost: LandfastError | None = None

    def end(self) -> None:
        self.is_up, self.has_ended = False, True

    def check(self) -> None:
        """Raise what the handler did to the transaction, if it did."""
        if self._lost is not None:
            raise self._lost from self._lost.__cause__

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    def lose(self, error: LandfastError, cause: BaseException | None = None) -> LandfastError:
        """The first reason is the one that is told."""
        if self._lost is None:
            error.__cause__ = cause
            self._lost = error
        return self._lost

    def forget(self) -> None:
        """When a handler that was given up has returned: nobody is told its errors. They keep the frames that they went
        through, and SQLite the lock of a cursor in them."""
        self.end()
        self._failed = self._lost = None

    def rolled_back(self) -> None:
        if self._failed is not None:
            self.lose(swallowed(), self._failed)
        else:
            self.lose(rolled_back())

    def failed(self, error: BaseException) -> None:
        self._failed = error

    def recovered(self) -> None:
        """By a savepoint, to which it was rolled back."""
        self._failed = None


def build(engine: Engine) -> None:
    """On an engine of our own, which shares the pool of the user's: theirs never meets these hooks."""
    for name, hook in _HOOKS.items():
        event.listen(engine, name, hook, retval=name == "before_cursor_execute")


def of(connection: Connection) -> Fence | None:
    found: Fence | None = connection.get_execution_options().get(OPTION)
    return found


def rolled_back() -> HandlerEndedTransactionError:
    return HandlerEndedTransactionError(
        "the handler rolled its session back, and the receipt with it, so nothing of this attempt was kept; "
        "use session.begin_nested() to undo a part, or raise an error to undo everything"
    )


def swallowed() -> SwallowedDatabaseError:
    return SwallowedDatabaseError(
        "the handler caught a database error and went on, but its transaction was already lost; "
        "put session.begin_nested() around statements that may fail"
    )


def _on_begin(connection: Connection) -> None:
    fence = of(connection)
    if fence is None:
        return
    if fence.has_ended:
        raise control.ended()
    if fence.has_begun:
        raise fence.lose(
            HandlerEndedTransactionError(
                "the handler ended its transaction and began another one; nothing of this attempt was kept"
            )
        )
    fence.has_begun = True


def _on_commit(connection: Connection) -> None:
    fence = of(connection)
    if fence is not None and not fence.may_commit:
        raise fence.lose(
            HandlerEndedTransactionError(
                "a handler may not commit its connection: Landfast commits its writes together with the receipt; "
                "session.commit() is fine, it sends what is pending"
            )
        )


def _on_rollback(connection: Connection) -> None:
    fence = of(connection)
    if fence is not None and fence.is_up:
        fence.rolled_back()
        fence.on_rollback()


def _on_rollback_to_savepoint(connection: Connection, _name: str, _context: None) -> None:
    fence = of(connection)
    if fence is not None:
        fence.recovered()


def _before_statement(
    connection: Connection, _cursor: Any, statement: str, values: Any, _context: Any, _many: object
) -> tuple[str, Any]:
    fence = of(connection)
    if fence is not None and fence.has_ended:
        raise control.ended()
    if fence is not None and fence.is_up:
        fence.check()
        control.refuse(statement)
        fence.savepoints.saw(statement)
        fence.used = True
        fence.before_others()
        if not fence.is_in_transaction():
            # Outside of a transaction the server would commit this statement by itself.
            raise fence.lose(control.ended_by_handler())
        fence.before_statement(statement)
    return statement, values


def _on_error(context: ExceptionContext) -> None:
    fence = of(context.connection) if context.connection is not None else None
    if fence is None or not fence.is_up:
        return
    if context.sqlalchemy_exception is not None:
        fence.failed(context.original_exception)
    elif isinstance(context.original_exception, CancelledError):
        fence.on_cancel()


_HOOKS: dict[str, Callable[..., Any]] = {
    "begin": _on_begin,
    "begin_twophase": lambda connection, _xid: _on_begin(connection),
    "commit": _on_commit,
    "rollback": _on_rollback,
    "rollback_savepoint": _on_rollback_to_savepoint,
    "before_cursor_execute": _before_statement,
    "handle_error": _on_error,
}

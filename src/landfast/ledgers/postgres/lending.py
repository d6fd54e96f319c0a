"""asyncpg's own connection, lent to a handler for as long as its transaction lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import asyncpg

from landfast.domain.savepoints import OwnSavepoints
from landfast.ledgers import control

if TYPE_CHECKING:
    from asyncpg import Connection, Record

    Base = Connection[Record]
else:
    Base = asyncpg.Connection


class LentConnection(Base):
    """A connection of asyncpg without a state of its own: whatever its methods read or change is the lender's.

    So `end` cuts off everything at once that came from it: prepared statements, cursors, transactions, and coroutines
    that nobody has awaited yet. The pool's own proxy would go on until the connection is back in the pool, and between
    the answer to COMMIT or ROLLBACK and that moment the server commits each statement by itself.
    """

    __slots__ = ("_has_ended", "_lender", "savepoints")

    def __init__(self, lender: Connection[Record]) -> None:
        self._lender = lender
        self._has_ended = False
        self.savepoints = OwnSavepoints()

    async def execute(self, query: str, *args: Any, **how: Any) -> str:
        self.savepoints.saw(query)
        return await super().execute(query, *args, **how)

    def end(self) -> None:
        self._has_ended = True

    def _maybe_gc_stmt(self, statement: Any) -> None:
        # Called when a statement is deleted, which may be long after the end, and sends nothing.
        self._lender._maybe_gc_stmt(statement)  # type: ignore[attr-defined]  # noqa: SLF001 - asyncpg's own classes call it

    def _cleanup(self) -> None:
        # After `close` and `terminate`: the place in the pool is the lender's, and only the lender can give it back.
        self._lender._cleanup()  # type: ignore[attr-defined]  # noqa: SLF001 - the same

    def _get_unique_id(self, prefix: str) -> str:
        name: str = self._lender._get_unique_id(prefix)  # type: ignore[attr-defined]  # noqa: SLF001 - behind a pooler it has its own way
        return name

    def __del__(self) -> None:
        """Nothing: asyncpg would warn of a connection that nobody closed."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'[ended]' if self._has_ended else repr(self._lender)}>"


def _of_the_lender(name: str) -> property:
    def get(self: LentConnection) -> Any:
        if self._has_ended:
            raise control.ended()
        return getattr(self._lender, name)

    def put(self: LentConnection, value: Any) -> None:
        if self._has_ended:
            raise control.ended()
        setattr(self._lender, name, value)

    return property(get, put)


for _name in asyncpg.Connection.__slots__:
    if not _name.startswith("__"):
        setattr(LentConnection, _name, _of_the_lender(_name))

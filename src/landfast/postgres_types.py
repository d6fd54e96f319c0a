"""What asyncpg must know of PostgreSQL's own types, asked for once in a process and not once in each connection.

asyncpg knows no array but text[]. The first statement that takes another makes it look into the server's catalogue, and
that takes some ten milliseconds of processor time in each connection: a worker has forty of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg

if TYPE_CHECKING:
    from asyncpg import Connection, Record

    Base = Connection[Record]
else:
    Base = asyncpg.Connection

ARRAYS = frozenset({1000, 1001, 1005, 1007, 1010, 1016, 1022, 1185})
"""Of boolean, bytea, smallint, integer, tid, bigint, double precision and timestamptz: those of our statements.
PostgreSQL's own types have the same numbers in every server and version. They are asked for together, whichever comes
first."""

_known: list[Any] = []


class _NotPrepared(NamedTuple):
    """Stands for the statement that asks. asyncpg prepares its own again if this has no name, and here nobody asked."""

    name: str = "known before"


class KnowingConnection(Base):
    """For pools, as their `connection_class`. asyncpg asks through a method that is not public: should it have another
    name one day, each connection asks for itself again, and nothing else changes."""

    __slots__ = ()

    async def _introspect_types(self, typeoids: Collection[int], *how: Any) -> tuple[Any, Any]:
        if not ARRAYS.issuperset(typeoids):
            return await super()._introspect_types(typeoids, *how)  # type: ignore[misc, no-any-return]
        if _known:
            return _known, _NotPrepared()
        types, statement = await super()._introspect_types(ARRAYS, *how)  # type: ignore[misc]
        _known[:] = types
        return types, statement

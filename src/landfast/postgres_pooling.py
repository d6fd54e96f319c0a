"""PostgreSQL behind a pooler in transaction mode, such as PgBouncer.

Each transaction may meet another session of the server. So nothing may outlive one that a session keeps: prepared
statements, settings, advisory locks, LISTEN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from landfast.postgres_types import KnowingConnection

if TYPE_CHECKING:
    from asyncpg import Connection, Record

PREPARED_STATEMENTS = 100
"""That a direct connection keeps, asyncpg's own default: ours are a few dozen, handlers have theirs. Without them each
statement takes a second round trip."""


async def is_pooled(connection: Connection[Record]) -> bool:
    """Whether a pooler is in between: it gives out process ids of its own."""
    pid = await connection.fetchval("SELECT pg_backend_pid()")
    return bool(pid != connection.get_server_pid())


def connecting(*, pooled: bool) -> dict[str, Any]:
    """What a pool of asyncpg's is told."""
    if not pooled:
        return {"connection_class": KnowingConnection, "statement_cache_size": PREPARED_STATEMENTS}
    return {"connection_class": PooledConnection, "statement_cache_size": 0, "reset": _keep}


async def _keep(connection: Any) -> None:
    """What asyncpg would reset now is perhaps somebody else's session."""


class PooledConnection(KnowingConnection):
    """A statement that is not kept has no name, and asyncpg sends both halves of it before the server is done with the
    first: the pooler changes nothing in between. What a handler prepares by itself has a name, and stays in a session
    that others get: asyncpg's own names are the same in every process."""

    __slots__ = ()

    def _get_unique_id(self, prefix: str) -> str:
        return f"__landfast_{prefix}_{uuid4().hex}__"

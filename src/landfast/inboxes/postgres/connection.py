"""Connections to the inbox: a pool for intake, a pool for everybody else, and what their errors mean."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

import asyncpg

from landfast.domain.errors import ConfigError, InboxUnavailableError, RowRefusedError, TookTooLongError
from landfast.postgres_pooling import connecting, is_pooled
from landfast.statement_limit import statement_seconds

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record] | asyncpg.Connection[asyncpg.Record]"
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

ANSWERS_WITHIN = 10.0
"""Seconds for one statement: senders give up after 10 to 30, and a worker's lease is longer. A server that is slower
than that cannot be used now."""

CONNECTS_WITHIN = 5.0
"""Seconds. On the way to a server that is there, half a second is long."""

RECORDING = 3
"""Connections for intake: one batch is in flight at a time, the counters go beside it, and so does what is drained."""

_SESSION = "SET plan_cache_mode = force_custom_plan; SET jit = off"
# A plan that was made while a table was small would be kept when it has grown, and a batch of 500 is not one of 10:
# planning anew costs 0.3 ms a batch. Behind a pooler nothing is set: the next transaction has another session.

_LISTING = (
    "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0;"
    " SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)
# Whoever lists wants the first fifty of an index. Behind millions the planner would rather read 200,000 dead letters
# and hash them, with a processor or two more: 64 ms in place of 4, taken from those who take webhooks in.

_GONE = (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_NO_TABLES = (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError)
_REFUSED = ("22", "23", "54")
"""Data, integrity and size: the classes of errors that are about what a row holds."""


class Connections:
    def __init__(self, dsn: str, *, pool: int) -> None:
        self._dsn = dsn
        self._size = pool
        self._recording: Pool | None = None
        self._working: Pool | None = None
        self.is_pooled = False
        """Whether PgBouncer or the like is in between."""

    async def open(self) -> None:
        """Connect both pools; ConfigError where the address is wrong, InboxUnavailableError where nobody answers."""
        if self._working is None:
            self.is_pooled = await _is_pooled(self._dsn)
            self._recording = await _pool(self._dsn, RECORDING, pooled=self.is_pooled)
            try:
                self._working = await _pool(self._dsn, self._size, pooled=self.is_pooled)
            except BaseException:
                await self.close()
                raise

    async def close(self) -> None:
        """Safe twice. A statement that hangs is given a second."""
        pools = [pool for pool in (self._recording, self._working) if pool is not None]
        self._recording = self._working = None
        for pool in pools:
            try:
                async with asyncio.timeout(1):
                    await pool.close()
            except (TimeoutError, *_GONE):
                pool.terminate()

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[Connection]:
        """A connection of intake's own: nothing that workers or operators do keeps it waiting."""
        async with _borrowed(self._recording) as connection:
            yield connection

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Connection]:
        seconds = statement_seconds()
        async with _borrowed(self._working) as connection:
            if seconds is None:
                yield connection
                return
            # For this transaction alone, so that it holds behind a pooler, too.
            async with connection.transaction():
                await connection.execute(_limited(seconds))
                yield connection

    @asynccontextmanager
    async def listing(self) -> AsyncIterator[Connection]:
        """For what goes along an index, and stops."""
        seconds = statement_seconds()
        limit = "" if seconds is None else f"; {_limited(seconds)}"
        async with _borrowed(self._working) as connection, connection.transaction():
            await connection.execute(f"{_LISTING}{limit}")
            yield connection

    @asynccontextmanager
    async def transaction(self, *, isolation: str = "read_committed") -> AsyncIterator[Connection]:
        """For several statements that hold together, committed as durably as the server is set to."""
        async with _borrowed(self._working) as connection, connection.transaction(isolation=isolation):  # type: ignore[arg-type]
            yield connection


def _limited(seconds: float) -> str:
    return f"SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}"


async def _is_pooled(dsn: str) -> bool:
    try:
        connection = await asyncpg.connect(
            dsn, statement_cache_size=0, timeout=CONNECTS_WITHIN, command_timeout=ANSWERS_WITHIN
        )
        try:
            return await is_pooled(connection)
        finally:
            connection.terminate()
    except (*_GONE, asyncpg.PostgresError, ValueError) as error:
        raise _refusal(dsn, error) from None


async def _pool(dsn: str, size: int, *, pooled: bool) -> Pool:
    pool: Pool | None = None
    how = connecting(pooled=pooled) | {"reset": _keep, "init": None if pooled else _init}
    try:
        # No floor: the pool would log a traceback for each try to restore it while the server is away.
        pool = await asyncpg.create_pool(
            dsn,
            min_size=0,
            max_size=size,
            max_inactive_connection_lifetime=0,
            timeout=CONNECTS_WITHIN,
            command_timeout=ANSWERS_WITHIN,
            **how,
        )
        async with pool.acquire():
            return pool
    except (*_GONE, asyncpg.PostgresError, ValueError) as error:
        if pool is not None:
            pool.terminate()
        # `from None`: the driver's own sentence may quote a piece of the address, and the password is in it.
        raise _refusal(dsn, error) from None


async def _init(connection: Connection) -> None:
    await connection.execute(_SESSION)


async def _keep(connection: Connection) -> None:
    """Our statements leave nothing in a session that would have to be reset: it saves a round trip each time."""


@asynccontextmanager
async def _borrowed(pool: Pool | None) -> AsyncIterator[Connection]:
    if pool is None:
        raise InboxUnavailableError("the inbox is not open")
    try:
        async with pool.acquire(timeout=ANSWERS_WITHIN) as connection:
            try:
                yield connection
            except asyncio.CancelledError:
                # Perhaps between a statement's two halves: the server would wait for the other one, and take whatever
                # comes next for a part of it.
                connection.terminate()
                raise
    except _GONE as error:
        raise InboxUnavailableError(f"the inbox did not answer: {_short(error)}") from error
    except asyncpg.PostgresError as error:
        if isinstance(error, asyncpg.QueryCanceledError) and statement_seconds() is not None:
            raise TookTooLongError(f"the inbox ended a statement: {_short(error)}") from error
        if error.sqlstate[:2] in _REFUSED:
            raise RowRefusedError(f"the inbox refuses a row: {_short(error)}") from error
        if isinstance(error, _NO_TABLES):
            raise InboxUnavailableError(f"the inbox has no such table ({error}); run landfast migrate") from error
        # Away, full, read-only, locked, or its schema broken: whatever the server says, the same call may work later.
        raise InboxUnavailableError(f"the inbox cannot be used: {_short(error)}") from error


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0] if str(error) else type(error).__name__


def _refusal(dsn: str, error: Exception) -> ConfigError | InboxUnavailableError:
    """What an error at the first connect means, in one sentence without the password."""
    where = urlsplit(dsn).netloc.rpartition("@")[2] or "the local server"
    match error:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return ConfigError(f"store: PostgreSQL says {error}; check user and password in LANDFAST_STORE")
        case asyncpg.InvalidCatalogNameError():
            return ConfigError(f"store: {error}; create it, or name another in LANDFAST_STORE")
        case asyncpg.InsufficientPrivilegeError():
            return ConfigError(f"store: {error}; grant the right, or name another user in LANDFAST_STORE")
        case asyncpg.UndefinedObjectError() | asyncpg.InvalidParameterValueError():
            return ConfigError(
                f"store: {where} does not take an option of the address ({error}); correct LANDFAST_STORE"
            )
        case socket.gaierror():
            return ConfigError("store: no such host; check the address in LANDFAST_STORE")
        case ConnectionError() if "rejected SSL" in str(error):
            return ConfigError(f"store: {where} takes no TLS; switch it on, or leave sslmode out of LANDFAST_STORE")
        case asyncpg.ClientConfigurationError() if str(error).startswith("`sslmode`"):
            return ConfigError(f"store: {error}; correct it in LANDFAST_STORE")
        case ValueError():
            return ConfigError("store: no address; write LANDFAST_STORE=postgresql://user:password@host/name")
    return InboxUnavailableError(
        f"store (LANDFAST_STORE): {where} does not answer ({type(error).__name__});"
        " start the server, or correct the address"
    )

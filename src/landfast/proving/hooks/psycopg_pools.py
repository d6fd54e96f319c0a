"""Pools of psycopg's: what they hold may lead to a copy that is gone, and a closed one cannot be opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from landfast.proving.hooks.patching import patched
from landfast.proving.hooks.redirect import redirect

_TRIES_AT_MOST = 100
"""More connections than any pool of a test's has."""


@contextmanager
def watching_psycopg_pools() -> Iterator[None]:
    """A connection that leads elsewhere than to the copy of the moment is replaced when it is asked for."""
    with ExitStack() as stack:
        if find_spec("psycopg_pool") is not None:
            pools: Any = import_module("psycopg_pool")
            for kind in (pools.ConnectionPool, pools.NullConnectionPool):
                stack.enter_context(patched(kind, "getconn", _blocking))
            for kind in (pools.AsyncConnectionPool, pools.AsyncNullConnectionPool):
                stack.enter_context(patched(kind, "getconn", _awaited))
        yield


def is_pool(given: object) -> bool:
    return type(given).__module__.startswith("psycopg_pool")


def like(pool: Any) -> Any:
    """Another pool like this one, not open yet."""
    options = {
        "connection_class": pool.connection_class,
        "kwargs": pool.kwargs,
        "min_size": 1,
        "max_size": pool.max_size,
        "timeout": pool.timeout,
        "configure": pool._configure,  # noqa: SLF001 - it has no other way to tell
        "reset": pool._reset,  # noqa: SLF001 - same
    }
    return type(pool)(pool.conninfo, open=False, **options)


def _blocking(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def getconn(self: Any, *args: Any, **more: Any) -> Any:
        for _ in range(_TRIES_AT_MOST):
            connection = original(self, *args, **more)
            if _is_current(connection):
                return connection
            connection.close()
            self.putconn(connection)
        return original(self, *args, **more)

    return getconn


def _awaited(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def getconn(self: Any, *args: Any, **more: Any) -> Any:
        for _ in range(_TRIES_AT_MOST):
            connection = await original(self, *args, **more)
            if _is_current(connection):
                return connection
            await connection.close()
            await self.putconn(connection)
        return await original(self, *args, **more)

    return getconn


def _is_current(connection: Any) -> bool:
    to = redirect()
    if to is None or connection.closed:
        return to is None
    name = str(connection.info.dbname)
    is_ours = name == to.database or name.startswith("landfast_prove_")
    return not is_ours or name == to.copy

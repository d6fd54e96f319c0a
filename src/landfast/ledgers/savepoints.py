"""`tx.savepoint()`, on every ledger that sends it as statements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def savepoint(
    number: int, execute: Callable[[str], Awaitable[object]], *, is_open: Callable[[], bool]
) -> AsyncIterator[None]:
    """The one of this number in its transaction. `is_open` tells whether there is still something to undo it in. One
    statement at a time: SQLite takes no more."""
    name = f"landfast_{number}"
    await execute(f"SAVEPOINT {name}")
    try:
        yield
    except BaseException:
        if is_open():
            await execute(f"ROLLBACK TO {name}")
            await execute(f"RELEASE SAVEPOINT {name}")
        raise
    await execute(f"RELEASE SAVEPOINT {name}")

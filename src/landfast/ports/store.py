"""What every database adapter can do besides its port: come up, migrate, examine itself, go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Store(Protocol):
    async def open(self) -> None:
        """Connect. ConfigError, one sentence that names the setting and the fix, when the address is wrong;
        InboxUnavailableError or LedgerUnavailableError when the database does not answer."""
        ...

    async def close(self) -> None: ...

    async def migrate(self) -> Sequence[str]:
        """Bring the schema up to date under a lock; the names of the migrations that were applied. One that fails
        leaves the schema as it was and raises ConfigError that names it."""
        ...

    async def problems(self) -> Sequence[str]:
        """One sentence each: schema behind or changed, a unique constraint missing, durability switched off."""
        ...

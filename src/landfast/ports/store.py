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
        """One sentence each: what `hazards` says, and whatever else in the schema is not as Landfast made it."""
        ...

    async def cautions(self) -> Sequence[str]:
        """One sentence each, with the fix in it: what works and is worth a look. None of it is in `problems`."""
        ...

    async def hazards(self) -> Sequence[str]:
        """One sentence each, with the fix in it: durability switched off, a unique constraint or a column missing, a
        table that a crash would empty. While there is one, nothing that is committed here may be relied on. A schema
        that a newer Landfast has brought up to date is none: in a rolling upgrade the old ones go on."""
        ...

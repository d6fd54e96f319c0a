"""What a database holds of the keys to what is sealed in it. None of them opens anything without the master key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.store_key import StoreKey


class KeyStore(Protocol):
    async def store_keys(self) -> Sequence[StoreKey]:
        """All of them, of every process that ever sealed something here."""
        ...

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        """Put these in the place of those with the same ids, all of them in one COMMIT. What they have wrapped stays
        as it is."""
        ...

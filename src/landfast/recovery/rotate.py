"""Rotation: every store key is wrapped anew by the newest master key. What they have sealed stays as it is."""

from __future__ import annotations

from typing import Protocol

from landfast.domain.store_key import StoreKey
from landfast.ports.sealed import KeyStore


class Rewraps(Protocol):
    def rewrapped(self, key: StoreKey) -> StoreKey: ...


async def rotate(store: KeyStore, seal: Rewraps) -> int:
    """How many were under another master key. SealedError, and nothing is changed, where one cannot be opened."""
    changed = [(key, seal.rewrapped(key)) for key in await store.store_keys()]
    # Crash before the COMMIT in here: all are as they were, and the operator asks again.
    new = [after for before, after in changed if after != before]
    if new:
        await store.rewrap(new)
    return len(new)

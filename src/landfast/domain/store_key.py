"""A key that wraps data keys, as a database holds it."""

from __future__ import annotations

from typing import NamedTuple


class StoreKey(NamedTuple):
    """Of no use without the master key."""

    id: bytes
    wrapped: bytes
    master: str
    """The name of the master key that wraps it."""

"""Whether this intake can take deliveries in now."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Readiness(msgspec.Struct, frozen=True):
    is_ready: bool = True
    """Whether a delivery can be made durable, wherever that is: with a spool, also while the inbox is away."""
    layers: Mapping[str, str] = {}
    """A word about each: `inbox`, `spool`, `journal`, `cache`."""

"""The seen cache that the settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from landfast.app.stores import InboxStore
from landfast.caches.local import LocalSeen
from landfast.config import Settings
from landfast.ports.clock import Chance, Clock
from landfast.ports.seen import Seen


@asynccontextmanager
async def seen_cache(settings: Settings, inbox: InboxStore, clock: Clock, chance: Chance) -> AsyncIterator[Seen]:  # noqa: ARG001
    yield LocalSeen()

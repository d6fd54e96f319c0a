"""The seen cache that the settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from landfast.caches.local import LocalSeen
from landfast.config import Server, Settings
from landfast.domain.errors import ConfigError
from landfast.intake.lookups import telling_misses
from landfast.ports.clock import Chance, Clock
from landfast.ports.seen import Seen

if TYPE_CHECKING:  # late below: its client takes a third of a process's start, and most have no such cache
    from landfast.caches.redis_marks import RedisMarks
    from landfast.caches.same_inbox import Origin


@asynccontextmanager
async def seen_cache(settings: Settings, inbox: Origin, clock: Clock, chance: Chance) -> AsyncIterator[Seen]:
    """Neither the server nor the inbox need be there yet: it is believed once both have answered."""
    if settings.redis is None:
        seen = LocalSeen()
        with telling_misses(seen):
            yield seen
        return
    from landfast.caches.shared import SharedSeen

    shared = SharedSeen(marks_at(settings.redis, chance.bytes(8)), inbox, clock=clock, name=str(settings.redis))
    shared.start()
    try:
        with telling_misses(shared):
            yield shared
    finally:
        await shared.close()


def marks_at(server: Server, boot: bytes) -> RedisMarks:
    from redis.exceptions import RedisError

    from landfast.caches.redis_marks import RedisMarks

    try:
        return RedisMarks(server.target, boot=boot)
    except (ValueError, TypeError, RedisError):  # not repeated: the address may hold a password
        raise ConfigError(
            f"{server.origin}: an option of the address is not understood; write it as redis://user:password@host:6379/0"
        ) from None

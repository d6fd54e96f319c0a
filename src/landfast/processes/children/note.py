"""What a process says about itself to whoever started it, once a second: whether it is ready, and what is not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec

from landfast.domain.readiness import Readiness
from landfast.telemetry import metrics

NOTE_SECONDS = 1.0


class Note(msgspec.Struct, frozen=True):
    at: float
    """By the monotonic clock, which all processes of a machine share."""
    ready: bool
    layers: Mapping[str, str]


@asynccontextmanager
async def noting(ready: Callable[[], Readiness]) -> AsyncIterator[None]:
    """Until the end of the block. From the loop that is asked about: no note means that it stands still."""
    _note(ready)
    noting = asyncio.create_task(_for_ever(ready))
    try:
        yield
    finally:
        noting.cancel()


async def _for_ever(ready: Callable[[], Readiness]) -> None:
    while True:
        await asyncio.sleep(NOTE_SECONDS)
        _note(ready)


def _note(ready: Callable[[], Readiness]) -> None:
    metrics.refresh()
    now = ready()
    metrics.page().note = msgspec.json.encode(Note(time.monotonic(), now.is_ready, now.layers))
